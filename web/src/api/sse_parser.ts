// Takes a text/event-stream apart, in whatever pieces it comes.

export interface SseMessage {
    id: string;
    event: string;
    data: string;
}

// A line longer than this is not from our daemon.
export const LINE_CHARACTERS_MAX = 1 << 20;

export class SseParser {
    private rest = "";
    private skipLineFeed = false;
    private started = false;
    private id = "";
    private event = "";
    private data: string[] = [];

    // The id of the last message, to resume after it.
    get lastId(): string {
        return this.id;
    }

    // The messages that this piece completes. Throws when a line has no end.
    push(piece: string): SseMessage[] {
        const messages: SseMessage[] = [];
        if (!this.started && piece !== "") {
            this.started = true;
            if (piece.startsWith("\uFEFF")) piece = piece.slice(1);
        }
        // A carriage return ended the last line; a line feed right after it is of the same end.
        if (this.skipLineFeed && piece !== "") {
            this.skipLineFeed = false;
            if (piece.startsWith("\n")) piece = piece.slice(1);
        }
        const text = this.rest + piece;
        let from = 0;
        for (let at = this.rest.length; at < text.length; ++at) {
            const character = text[at];
            if (character !== "\n" && character !== "\r") continue;
            this.line(text.slice(from, at), messages);
            if (character === "\r") {
                if (at + 1 === text.length) this.skipLineFeed = true;
                else if (text[at + 1] === "\n") ++at;
            }
            from = at + 1;
        }
        this.rest = text.slice(from);
        if (this.rest.length > LINE_CHARACTERS_MAX) throw new Error("The event stream holds a line without end");
        return messages;
    }

    private line(line: string, messages: SseMessage[]): void {
        if (line === "") {
            if (this.data.length > 0) messages.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
            this.event = "";
            this.data = [];
            return;
        }
        const colon = line.indexOf(":");
        if (colon === 0) return; // a comment, sent to keep the link alive
        const field = colon < 0 ? line : line.slice(0, colon);
        let value = colon < 0 ? "" : line.slice(colon + 1);
        if (value.startsWith(" ")) value = value.slice(1);
        if (field === "data") this.data.push(value);
        else if (field === "event") this.event = value;
        else if (field === "id" && !value.includes("\0")) this.id = value;
    }
}
