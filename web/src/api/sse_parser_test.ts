import { describe, expect, it } from "vitest";
import { LINE_CHARACTERS_MAX, SseParser } from "./sse_parser";

const STREAM = 'retry: 2000\n\n: still here\n\nid: 7\nevent: match.ready\ndata: {"id":7}\n\nid: 8\ndata: one\ndata:two\n\n';
const MESSAGES = [
    { id: "7", event: "match.ready", data: '{"id":7}' },
    { id: "8", event: "message", data: "one\ntwo" },
];

describe("O-2: server-sent events", () => {
    it("come out whole, comments and retry left out", () => {
        const parser = new SseParser();
        expect(parser.push(STREAM)).toEqual(MESSAGES);
        expect(parser.lastId).toBe("8");
    });

    it("come out the same at every split point, with each kind of line end", () => {
        for (const end of ["\n", "\r\n", "\r"]) {
            const text = STREAM.replaceAll("\n", end);
            for (let at = 0; at <= text.length; ++at) {
                const parser = new SseParser();
                expect([...parser.push(text.slice(0, at)), ...parser.push(text.slice(at))], `${JSON.stringify(end)} at ${at}`).toEqual(MESSAGES);
            }
        }
    });

    it("come out the same one character at a time", () => {
        const parser = new SseParser();
        expect([...STREAM].flatMap((character) => parser.push(character))).toEqual(MESSAGES);
    });

    it("may begin with a byte order mark", () => {
        expect(new SseParser().push("\uFEFFdata: x\n\n")).toEqual([{ id: "", event: "message", data: "x" }]);
    });

    it("keep the last id for those without one, and an empty id forgets it", () => {
        const parser = new SseParser();
        expect(parser.push("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n").map((message) => message.id)).toEqual(["1", "1", ""]);
    });

    it("are nothing without data, and unknown fields change nothing", () => {
        expect(new SseParser().push("event: x\n\nfoo: bar\ndata\n\n")).toEqual([{ id: "", event: "message", data: "" }]);
    });

    it("an unfinished message is not given out", () => {
        expect(new SseParser().push("data: x\n")).toEqual([]);
    });

    it("a line without end is refused", () => {
        const parser = new SseParser();
        parser.push("x".repeat(LINE_CHARACTERS_MAX));
        expect(() => parser.push("x")).toThrow();
    });
});
