// The live events: connects, goes on after the last one it saw when the link breaks, and tells how it stands.

import { NotSignedIn, Refused, type Api } from "./api";
import { backoffMs } from "./backoff";
import { Pause } from "./pause";
import type { FleetEvent } from "./shapes";
import { SseParser, type SseMessage } from "./sse_parser";

export type StreamState = "connecting" | "live" | "lost" | "locked";

export interface StreamListener {
    events(batch: FleetEvent[]): void;
    state(state: StreamState): void;
    // It is live and begins at now: what happened before is not told by it.
    begun?(): void;
}

// Nothing for so long, not even a comment, and the link is taken for dead. The daemon writes one at least every 15 s.
export const SILENCE_MS_MAX = 45_000;

export class EventStream {
    private lastId = "";
    private link: AbortController | null = null;
    private readonly pause = new Pause();
    private stopped = false;

    constructor(
        private readonly api: Pick<Api, "events">,
        private readonly listener: StreamListener,
    ) {}

    // Runs until stop().
    async run(): Promise<void> {
        let failures = 0;
        while (!this.stopped) {
            this.listener.state("connecting");
            const before = this.lastId;
            try {
                await this.listen();
                failures = 0;
            } catch (error) {
                if (error instanceof NotSignedIn) {
                    this.listener.state("locked");
                    await this.pause.wait(null);
                    continue;
                }
                // The daemon no longer knows this place in its history (its store was replaced): begin at now.
                if (error instanceof Refused && error.status < 500 && error.status !== 429) this.lastId = "";
            }
            if (this.stopped) return;
            if (this.lastId !== before) failures = 0;
            this.listener.state("lost");
            await this.pause.wait(backoffMs(failures++));
        }
    }

    // Tries at once instead of at the next turn: the daemon is known to be back, or the token was entered.
    retry(): void {
        this.pause.wake();
    }

    // Drops the link, so that it is made anew.
    reconnect(): void {
        this.link?.abort();
        this.retry();
    }

    stop(): void {
        this.stopped = true;
        this.reconnect();
    }

    private async listen(): Promise<void> {
        const link = new AbortController();
        this.link = link;
        const parser = new SseParser();
        const decoder = new TextDecoder();
        let silence = setTimeout(() => link.abort(), SILENCE_MS_MAX);
        try {
            const reader = (await this.api.events(this.lastId, link.signal)).getReader();
            this.listener.state("live");
            if (this.lastId === "") this.listener.begun?.();
            for (;;) {
                const { done, value } = await reader.read();
                if (done) return;
                clearTimeout(silence);
                silence = setTimeout(() => link.abort(), SILENCE_MS_MAX);
                const batch = parser.push(decoder.decode(value, { stream: true })).flatMap(eventOf);
                if (parser.lastId !== "") this.lastId = parser.lastId;
                if (batch.length > 0) this.listener.events(batch);
            }
        } finally {
            clearTimeout(silence);
            link.abort();
            this.link = null;
        }
    }
}

function eventOf(message: SseMessage): FleetEvent[] {
    try {
        const event: unknown = JSON.parse(message.data);
        if (message.event === "gap") return [gapOf(event as { after: number; up_to: number })];
        return isEvent(event) ? [event] : [];
    } catch {
        return [];
    }
}

function isEvent(value: unknown): value is FleetEvent {
    if (typeof value !== "object" || value === null) return false;
    const { id, time_ms, type } = value as Record<string, unknown>;
    return typeof id === "number" && typeof time_ms === "number" && typeof type === "string";
}

// The daemon no longer has all that happened while we were away, and says so. It stands in the feed like an event.
function gapOf({ after, up_to }: { after: number; up_to: number }): FleetEvent {
    return { id: up_to, time_ms: Date.now(), type: "gap", missed: up_to - after };
}
