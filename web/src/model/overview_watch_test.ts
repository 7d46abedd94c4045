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
    past: unknown = { every_ms: 2000, allocation_buckets_ms: [], player_buckets_ms: [], samples: [] };
    asked: string[] = [];
    async get<Answer>(path: string): Promise<Answer> {
        this.asked.push(path);
        if (path === "overview/history") {
            if (this.past instanceof Error) throw this.past;
            return this.past as Answer;
        }
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

const sample = {
    time_ms: 400,
    uptime_s: 1,
    requests: 0,
    successes: 0,
    retries: 0,
    failures: {},
    allocation_counts: [],
    player_counts: [],
    load: 4,
    capacity: 10,
    players: 0,
    idle: 0,
    tick_avg_ms: 0,
    tick_max_ms: 0,
    regions: [],
};

it("O-2: the charts begin with the past that the daemon kept, and are filled again after a time without it", async () => {
    const daemon = new Daemon();
    const watch = new OverviewWatch(daemon, () => 0);
    daemon.past = { every_ms: 2000, allocation_buckets_ms: [], player_buckets_ms: [], samples: [{ ...sample, time_ms: -3000 }, { ...sample, time_ms: -1000 }] };
    daemon.answers = [overview, { ...overview, time_ms: 2000 }, { ...overview, time_ms: 30_000 }, new Unreachable("gone"), { ...overview, time_ms: 31_000 }];
    await watch.once();
    expect(watch.reading.value?.trail.columns().seconds).toEqual([-3, -1, 1]);
    await watch.once();
    expect(daemon.asked.filter((path) => path === "overview/history")).toHaveLength(1);
    // The tab slept.
    daemon.past = { every_ms: 2000, allocation_buckets_ms: [], player_buckets_ms: [], samples: [{ ...sample, time_ms: 25_000 }, { ...sample, time_ms: 29_000 }] };
    await watch.once();
    expect(daemon.asked.filter((path) => path === "overview/history")).toHaveLength(2);
    expect(watch.reading.value?.trail.columns().seconds.slice(-2)).toEqual([29, 30]);
    await watch.once();
    await watch.once();
    expect(daemon.asked.filter((path) => path === "overview/history")).toHaveLength(3);
});

it("O-2: without a past the page shows the present", async () => {
    const daemon = new Daemon();
    daemon.past = new Unreachable("no");
    daemon.answers = [overview];
    const watch = new OverviewWatch(daemon, () => 0);
    await watch.once();
    expect(watch.link.value).toEqual({ state: "live" });
    expect(watch.reading.value?.trail.columns().seconds).toEqual([1]);
});
