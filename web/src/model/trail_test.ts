import { describe, expect, it } from "vitest";
import type { Overview } from "../api/shapes";
import { GAP_MS, increase, SAMPLES_MAX, Trail } from "./trail";

interface Given {
    requests?: number;
    successes?: number;
    failures?: Record<string, number>;
    load?: number;
    latency?: number[];
}

function overviewAt(time_ms: number, given: Given = {}): Overview {
    const region = { id: 2, name: "EU", capacity: 10, load: given.load ?? 0, cpu_percent: 0, memory_percent: 0, retries: 0, brake: false };
    const failed = Object.values(given.failures ?? {}).reduce((sum, number) => sum + number, 0);
    return {
        time_ms,
        version: "1",
        uptime_s: 1,
        health: { status: "ok", reasons: [] },
        regions: [
            { ...region, servers: { available: 1, full: 0, draining: 0, offline: 0 }, requests: given.requests ?? 0, failures: failed },
        ],
        allocations: {
            requests: given.requests ?? 0,
            successes: given.successes ?? 0,
            failures: given.failures ?? {},
            retries: 0,
            in_flight: 0,
            p50_ms: 1,
            p95_ms: 2,
            p99_ms: 3,
        },
        matches: { offering: 0, allocated: 0, ready: 0, started: 0 },
        players: { connected: 5, in_grace: 0, idle: 0, latency_ms: { buckets_ms: [10, 20], counts: given.latency ?? [] } },
        clock: { day: 1, hour: 0, minute: 0, speed: 1 },
        loop: { ticks_per_second: 10, tick_avg_ms: 0.1, tick_max_ms: 1, messages_per_second: 2, overruns: 0, callback_errors: 0 },
        store: { up: true, queue_depth: 0 },
        managers: 0,
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

    it("takes a fall for a restart and never shows less than nothing", () => {
        expect(increase([100, 110, 4, 6])).toBe(16);
        const trail = new Trail();
        trail.push(overviewAt(0, { requests: 100 }));
        trail.push(overviewAt(1_000, { requests: 2 }));
        expect(trail.rates().requests).toBe(2);
    });

    it("gives a region its own rates", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { requests: 10, failures: { Busy: 1 } }));
        trail.push(overviewAt(2_000, { requests: 14, failures: { Busy: 2 } }));
        expect(trail.regionRates(2)).toEqual({ requests: 2, failures: 0.5 });
        expect(trail.regionRates(9)).toEqual({ requests: 0, failures: 0 });
    });

    it("counts recent failures by reason, those that happened only", () => {
        const trail = new Trail();
        trail.push(overviewAt(0, { failures: { Busy: 7, Timeout: 1 } }));
        trail.push(overviewAt(1_000, { failures: { Busy: 7, Timeout: 3, "No servers available": 1 } }));
        expect(trail.recentFailures(60_000)).toEqual({ Timeout: 2, "No servers available": 1 });
    });
});

it("A-13: there is no allocation time before the first one", () => {
    const trail = new Trail();
    trail.push(overviewAt(0, { successes: 0 }));
    trail.push(overviewAt(1_000, { successes: 1 }));
    expect(trail.columns().p95).toEqual([null, 2]);
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

    it("keeps its last samples and no more", () => {
        const trail = new Trail();
        for (let second = 0; second < SAMPLES_MAX + 5; ++second) trail.push(overviewAt(second * 1000, { load: second }));
        const { load, seconds } = trail.columns();
        expect(load).toHaveLength(SAMPLES_MAX);
        expect(seconds[0]).toBe(5);
        expect(load.at(-1)).toBe(SAMPLES_MAX + 4);
        expect(trail.spanMs()).toBe((SAMPLES_MAX - 1) * 1000);
    });
});
