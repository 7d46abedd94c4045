import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { NotSignedIn, Refused, Unreachable } from "./api";
import { EventStream, SILENCE_MS_MAX, type StreamState } from "./event_stream";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

// A daemon whose streams are written by hand.
class Daemon {
    asked: string[] = [];
    failures: Error[] = [];
    private sink: ReadableStreamDefaultController<Uint8Array> | null = null;

    async events(after: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
        this.asked.push(after);
        const failure = this.failures.shift();
        if (failure) throw failure;
        return new ReadableStream({
            start: (sink) => {
                this.sink = sink;
                signal.addEventListener("abort", () => sink.error(new Error("aborted")), { once: true });
            },
        });
    }

    write(text: string): void {
        this.sink?.enqueue(new TextEncoder().encode(text));
    }

    close(): void {
        this.sink?.close();
    }
}

function listening() {
    const daemon = new Daemon();
    const seen: number[] = [];
    const states: StreamState[] = [];
    const stream = new EventStream(daemon, {
        events: (batch) => seen.push(...batch.map((event) => event.id)),
        state: (state) => states.push(state),
    });
    return { daemon, seen, states, stream, settle: () => vi.advanceTimersByTimeAsync(0) };
}

const line = (id: number) => `id: ${id}\nevent: match.ready\ndata: {"id":${id},"time_ms":1,"type":"match.ready"}\n\n`;

it("O-2: goes on after the last event it saw when the link breaks", async () => {
    const { daemon, seen, states, stream, settle } = listening();
    void stream.run();
    await settle();
    daemon.write(line(4) + line(5));
    await settle();
    daemon.close();
    await settle();
    expect(states).toEqual(["connecting", "live", "lost"]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(daemon.asked).toEqual(["", "5"]);
    daemon.write(line(6));
    await settle();
    expect(seen).toEqual([4, 5, 6]);
    stream.stop();
});

it("takes a link that says nothing at all for dead", async () => {
    const { daemon, stream, settle } = listening();
    void stream.run();
    await settle();
    await vi.advanceTimersByTimeAsync(SILENCE_MS_MAX - 1);
    daemon.write(": still here\n\n");
    await settle();
    await vi.advanceTimersByTimeAsync(SILENCE_MS_MAX - 1);
    expect(daemon.asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(daemon.asked.length).toBeGreaterThan(1);
    stream.stop();
});

it("begins at now when the daemon does not know the place to go on from", async () => {
    const { daemon, stream, settle } = listening();
    void stream.run();
    await settle();
    daemon.write(line(900));
    await settle();
    daemon.failures = [new Unreachable("restarting"), new Refused(400, "Unknown id")];
    daemon.close();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(daemon.asked).toEqual(["", "900", "900", ""]);
    stream.stop();
});

it("fault 70: without a token it waits until it is told to try again", async () => {
    const { daemon, states, stream, settle } = listening();
    daemon.failures = [new NotSignedIn()];
    void stream.run();
    await settle();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(states).toEqual(["connecting", "locked"]);
    stream.retry();
    await settle();
    expect(states.at(-1)).toBe("live");
    stream.stop();
});

it("shows a gap as one, and leaves out what is no event", async () => {
    const { daemon, seen, stream, settle } = listening();
    void stream.run();
    await settle();
    daemon.write('event: gap\ndata: {"after":3,"up_to":9}\n\ndata: nonsense\n\ndata: {"id":"x"}\n\n' + line(10));
    await settle();
    expect(seen).toEqual([9, 10]);
    stream.stop();
});
