import { describe, expect, it } from "vitest";
import type { Overview, OverviewHistory } from "../api/shapes";
import { FAILURES_WINDOW_MS, GAP_MS, SPAN_MS, TIMES_WINDOW_MS, Trail } from "./trail";

interface Given {
    requests?: number;
    successes?: number;
    failures?: Record<string, number>;
    load?: number;
    latency?: number[];
    times?: number[];
    uptime_s?: number;
}

function overviewAt(time_ms: number, given: Given = {}): Overview {
    const region = { id: 2, name: "EU", capacity: 10, load: given.load ?? 0, cpu_percent: 0, memory_percent: 0, retries: 0, lost: 0, brake: false };
    const failed = Object.values(given.failures ?? {}).reduce((sum, number) => sum + number, 0);
    return {
        time_ms,
        version: "1",
        uptime_s: given.uptime_s ?? 1,
        health: { status: "ok", reasons: [] },
        regions: [
            { ...region, servers: { available: 1, full: 0, draining: 0, offline: 0 }, requests: given.requests ?? 0, failures: failed },
        ],
        had_servers: true,
        allocations: {
            requests: given.requests ?? 0,
            successes: given.successes ?? 0,
            failures: given.failures ?? {},
            retries: 0,
            in_flight: 0,
            p50_ms: 1,
            p95_ms: 2,
            p99_ms: 3,
            latency_ms: { buckets_ms: [10, 20, 50], counts: given.times ?? [0, 0, 0, 0] },
        },
        matches: { offering: 0, allocated: 0, ready: 0, started: 0 },
        players: { connected: 5, in_grace: 0, idle: 0, latency_ms: { buckets_ms: [10, 20], counts: given.latency ?? [] } },
        clock: { day: 1, hour: 0, minute: 0, speed: 1 },
        loop: { ticks_per_second: 10, tick_avg_ms: 0.1, tick_max_ms: 1, messages_per_second: 2, overruns: 0, callback_errors: 0 },
        store: { up: true, queue_depth: 0 },
        matchmakers: 0,
    };
}

describe("A-13: counters become rates", () => {
    it("knows no rate from one reading", () => {
        const trail = new Trail();
        trail.push(overviewAt(1_000, { requests: 50 }));
        expect(trail.rates().requests).toBeNull();
    });

    it("divides the growth in the window by its seconds", () => {
        const trail = new Trail();
        for (let second = 0; second <= 10; ++second) trail.push(overviewAt(second * 1000, { requests: second * 3 }));
        expect(trail.rates().requests).toBeCloseTo(3);
    });

    it("forgets what lies before the window", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { requests: 0 }));
        for (let second = 1; second <= 4; ++second) trail.push(overviewAt(second * 1000, { requests: 1000 }));
        expect(trail.rates(3_000).requests).toBe(0);
        expect(trail.rates(4_000).requests).toBe(250);
    });

    it("begins anew after a restart, even when the new totals are above the old ones", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { requests: 100, uptime_s: 50 }));
        trail.push(overviewAt(1_000, { requests: 102, uptime_s: 0, failures: { Busy: 3 } }));
        expect(trail.rates().requests).toBeNull();
        trail.push(overviewAt(2_000, { requests: 104, uptime_s: 1, failures: { Busy: 3 } }));
        expect(trail.rates().requests).toBe(2);
        expect(trail.recentFailures(60_000)).toEqual({});
        expect(trail.spanMs()).toBe(1_000);
    });

    it("never shows less than nothing", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { requests: 100, times: [9, 9, 9, 9] }));
        trail.push(overviewAt(1_000, { requests: 2, times: [0, 0, 0, 1] }));
        expect(trail.rates().requests).toBe(0);
        expect(trail.recentTimes()).toEqual({ p50: null, p95: null, p99: null });
    });

    it("gives a region its own rate, and the failures of its last minute", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { requests: 10, failures: { Busy: 1 } }));
        expect(trail.region(2)).toEqual({ requests: null, failures: null });
        trail.push(overviewAt(2_000, { requests: 14, failures: { Busy: 2 } }));
        expect(trail.region(2)).toEqual({ requests: 2, failures: 1 });
        expect(trail.region(9)).toEqual({ requests: 0, failures: 0 });
    });

    it("counts recent failures by reason, those that happened only", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { failures: { Busy: 7, Timeout: 1 } }));
        trail.push(overviewAt(1_000, { failures: { Busy: 7, Timeout: 3, "No servers available": 1 } }));
        expect(trail.recentFailures(60_000)).toEqual({ Timeout: 2, "No servers available": 1 });
    });
});

describe("A-13: how long allocations take", () => {
    it("is of the last seconds alone, whatever there was before", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { times: [5_000, 0, 0, 0] }));
        trail.push(overviewAt(1_000, { times: [5_000, 0, 100, 0] }));
        expect(trail.recentTimes()).toEqual({ p50: 35, p95: 48.5, p99: 49.7 });
        expect(trail.columns().p50).toEqual([null, 35]);
        expect(trail.columns().p99.at(-1)).toBeCloseTo(49.7);
    });

    it("is not known when nobody asked, and what was slow is forgotten once it is long ago", () => {
        const trail = new Trail();
        trail.push(overviewAt(0));
        trail.push(overviewAt(1_000, { times: [0, 0, 0, 1] }));
        for (let at = 2_000; at <= TIMES_WINDOW_MS; at += 1_000) trail.push(overviewAt(at, { times: [0, 0, 0, 1] }));
        expect(trail.recentTimes().p95).toBe(50);
        trail.push(overviewAt(TIMES_WINDOW_MS + 1_000, { times: [0, 0, 0, 1] }));
        expect(trail.recentTimes()).toEqual({ p50: null, p95: null, p99: null });
        expect(trail.columns().p95.at(-2)).toBe(50);
        expect(trail.columns().p95.at(-1)).toBeNull();
    });

    it("does not mix what two daemons counted", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { times: [0, 10, 0, 0], uptime_s: 9 }));
        trail.push(overviewAt(1_000, { times: [0, 12, 0, 0], uptime_s: 0 }));
        expect(trail.recentTimes().p50).toBeNull();
        trail.push(overviewAt(2_000, { times: [4, 12, 0, 0], uptime_s: 1 }));
        expect(trail.recentTimes().p50).toBe(5);
    });
});

it("A-13: failures have a line for each reason, the commonest first, and fall back once a minute has passed", () => {
    const trail = new Trail();
    trail.push(overviewAt(0, { failures: { Old: 9 } }));
    trail.push(overviewAt(1_000, { failures: { Old: 9, Busy: 1 } }));
    trail.push(overviewAt(2_000, { failures: { Old: 9, Busy: 2, Timeout: 3 } }));
    expect(trail.columns().byReason).toEqual([
        { reason: "Timeout", values: [0, 0, 3] },
        { reason: "Busy", values: [0, 1, 2] },
    ]);
    for (let at = 3_000; at <= FAILURES_WINDOW_MS + 2_000; at += 1_000)
        trail.push(overviewAt(at, { failures: { Old: 9, Busy: 2, Timeout: 3 } }));
    expect(trail.columns().byReason.map(({ values }) => values.at(-1))).toEqual([0, 0]);
});

it("P-8: the latency of the last minutes is told apart from that since the start", () => {
    const trail = new Trail();
    trail.push(overviewAt(0, { latency: [1000, 5, 0] }));
    trail.push(overviewAt(1_000, { latency: [1000, 7, 1] }));
    expect(trail.recentLatency(60_000)).toEqual({ buckets_ms: [10, 20], counts: [0, 2, 1] });
});

describe("the trail", () => {
    it("has a hole where the daemon was away, at one millisecond past the limit and not at the limit", () => {
        const near = new Trail();
        near.push(overviewAt(0));
        near.push(overviewAt(GAP_MS));
        expect(near.columns().players).toEqual([5, 5]);
        const far = new Trail();
        far.push(overviewAt(0));
        far.push(overviewAt(GAP_MS + 1, { requests: 100 }));
        expect(far.columns().players).toEqual([5, null, 5]);
        expect(far.rates().requests).toBeNull();
    });

    it("begins anew when time runs back", () => {
        const trail = new Trail();
        trail.push(overviewAt(5_000));
        trail.push(overviewAt(4_000));
        expect(trail.columns().seconds).toEqual([4]);
    });

    it("takes the same reading once", () => {
        const trail = new Trail();
        trail.push(overviewAt(5_000));
        trail.push(overviewAt(5_000));
        expect(trail.columns().seconds).toEqual([5]);
    });

    it("keeps ten minutes and no more", () => {
        const trail = new Trail();
        const seconds = SPAN_MS / 1000;
        for (let second = 0; second <= seconds + 5; ++second) trail.push(overviewAt(second * 1000, { load: second }));
        expect(trail.columns().seconds[0]).toBe(5);
        expect(trail.columns().load.at(-1)).toBe(seconds + 5);
        expect(trail.spanMs()).toBe(SPAN_MS);
    });
});

describe("O-2: the past that the daemon kept", () => {
    const past = (times: number[]): OverviewHistory => ({
        every_ms: 2000,
        allocation_buckets_ms: [10, 20, 50],
        player_buckets_ms: [10, 20],
        samples: times.map((time_ms) => ({
            time_ms,
            uptime_s: 1,
            requests: time_ms / 1000,
            successes: time_ms / 1000,
            retries: 0,
            failures: { server_busy: time_ms / 1000 },
            allocation_counts: [time_ms / 1000, 0, 0, 0],
            player_counts: [],
            load: 3,
            capacity: 10,
            players: 5,
            idle: 1,
            tick_avg_ms: 0.1,
            tick_max_ms: 1,
            regions: [{ id: 2, requests: time_ms / 1000, failures: time_ms / 1000 }],
        })),
    });

    it("gives rates, times and failures at once", () => {
        const trail = new Trail();
        trail.fill(past([0, 2_000, 4_000, 6_000, 8_000, 10_000]));
        expect(trail.rates().requests).toBeCloseTo(1);
        expect(trail.recentTimes().p50).toBeCloseTo(5);
        expect(trail.region(2)).toEqual({ requests: 1, failures: 10 });
        expect(trail.recentFailures(60_000)).toEqual({ server_busy: 10 });
        expect(trail.columns().load).toEqual([3, 3, 3, 3, 3, 3]);
    });

    it("comes before what the page saw itself, which stays", () => {
        const trail = new Trail();
        for (const second of [9, 10, 11]) trail.push(overviewAt(second * 1000, { load: 7 }));
        trail.fill(past([4_000, 6_000, 8_000, 10_000]));
        expect(trail.columns().seconds).toEqual([4, 6, 9, 10, 11]);
        expect(trail.columns().load).toEqual([3, 3, 7, 7, 7]);
    });

    it("fills a gap, so that none is drawn", () => {
        const trail = new Trail();
        trail.push(overviewAt(1_000));
        trail.push(overviewAt(20_000));
        expect(trail.columns().load).toContain(null);
        trail.fill(past([4_000, 8_000, 12_000, 16_000]));
        expect(trail.columns().load).not.toContain(null);
    });
});
