import { expect, it } from "vitest";
import { NotSignedIn, Unreachable } from "../api/api";
import { OverviewWatch, POLL_MS } from "./overview_watch";

const overview = {
    time_ms: 1000,
    regions: [],
    allocations: { requests: 0, successes: 0, failures: {}, retries: 0, latency_ms: { buckets_ms: [], counts: [] } },
    players: { connected: 0 },
    loop: {},
};

// Answers as it is told, one after the other.
class Daemon {
    answers: Array<unknown> = [];
    async get<Answer>(): Promise<Answer> {
        const next = this.answers.shift();
        if (next instanceof Error) throw next;
        return next as Answer;
    }
}

it("says since when the daemon does not answer, counted from its last answer, and recovers", async () => {
    const daemon = new Daemon();
    let now = 5_000;
    const watch = new OverviewWatch(daemon, () => now);
    daemon.answers = [overview, new Unreachable("gone"), new Unreachable("gone"), { ...overview, time_ms: 9000 }];

    expect(await watch.once()).toBe(POLL_MS);
    expect(watch.link.value).toEqual({ state: "live" });
    now = 6_000;
    const pause = await watch.once();
    expect(pause).toBeGreaterThan(0);
    expect(watch.link.value).toEqual({ state: "lost", since: 5_000, reason: "gone" });
    now = 8_000;
    await watch.once();
    expect(watch.link.value).toMatchObject({ state: "lost", since: 5_000 });
    expect(watch.reading.value?.overview.time_ms).toBe(1000);
    await watch.once();
    expect(watch.link.value).toEqual({ state: "live" });
    expect(watch.reading.value?.overview.time_ms).toBe(9000);
});

it("fault 70: without a token it waits to be asked, so that it does not use up the attempts", async () => {
    const daemon = new Daemon();
    daemon.answers = [new NotSignedIn()];
    const watch = new OverviewWatch(daemon);
    expect(await watch.once()).toBeNull();
    expect(watch.link.value).toEqual({ state: "locked" });
});
