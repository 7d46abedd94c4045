import { expect, it } from "vitest";
import { bars, difference, filledBars, percentile } from "./histogram";

const latency = { buckets_ms: [10, 20, 50], counts: [10, 80, 0, 10] };

it("P-8: bars lie between their bounds, the last one open", () => {
    expect(bars(latency)).toEqual([
        { from_ms: 0, to_ms: 10, count: 10, share: 0.1 },
        { from_ms: 10, to_ms: 20, count: 80, share: 0.8 },
        { from_ms: 20, to_ms: 50, count: 0, share: 0 },
        { from_ms: 50, to_ms: null, count: 10, share: 0.1 },
    ]);
});

it("leaves out empty bars at the ends, not in the middle", () => {
    expect(filledBars({ buckets_ms: [1, 2, 3, 4], counts: [0, 2, 0, 1, 0] }).map((bar) => bar.count)).toEqual([2, 0, 1]);
    expect(filledBars({ buckets_ms: [1, 2], counts: [0, 0] })).toEqual([]);
});

it("finds a percentile within its bucket", () => {
    expect(percentile(latency, 0.5)).toBeCloseTo(15);
    expect(percentile(latency, 0.1)).toBeCloseTo(10);
    expect(percentile(latency, 0.9)).toBeCloseTo(20);
});

it("says no more than the last bound above all bounds, and nothing of nothing", () => {
    expect(percentile(latency, 0.99)).toBe(50);
    expect(percentile({ buckets_ms: [10], counts: [0, 0] }, 0.5)).toBeNull();
});

it("takes counts without one for what lies above", () => {
    expect(percentile({ buckets_ms: [10, 20], counts: [1, 1] }, 1)).toBe(20);
});

it("A-13: what two readings differ by was counted between them", () => {
    const earlier = { buckets_ms: [10, 20, 50], counts: [10, 79, 0, 4] };
    expect(difference(latency, earlier)).toEqual({ buckets_ms: [10, 20, 50], counts: [0, 1, 0, 6] });
    expect(difference(latency, { buckets_ms: [], counts: [] })).toEqual(latency);
});
