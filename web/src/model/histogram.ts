// A histogram as the API gives it: upper bounds, and how many lie at or below each but above the one before. A count
// beyond the last bound, if there is one, is of what lies above all of them.

export interface Histogram {
    buckets_ms: number[];
    counts: number[];
}

export interface Bar {
    from_ms: number;
    to_ms: number | null; // null: no upper bound
    count: number;
    share: number; // of all, 0 to 1
}

export function total(histogram: Histogram): number {
    return histogram.counts.reduce((sum, count) => sum + count, 0);
}

// What was counted between two readings of the same daemon.
export function difference(later: Histogram, earlier: Histogram): Histogram {
    return { buckets_ms: later.buckets_ms, counts: later.counts.map((count, at) => Math.max(0, count - (earlier.counts[at] ?? 0))) };
}

export function bars(histogram: Histogram): Bar[] {
    const all = total(histogram);
    return histogram.counts.map((count, at) => ({
        from_ms: at === 0 ? 0 : (histogram.buckets_ms[at - 1] ?? 0),
        to_ms: histogram.buckets_ms[at] ?? null,
        count,
        share: all === 0 ? 0 : count / all,
    }));
}

// Without the empty bars at both ends.
export function filledBars(histogram: Histogram): Bar[] {
    const all = bars(histogram);
    const first = all.findIndex((bar) => bar.count > 0);
    const last = all.findLastIndex((bar) => bar.count > 0);
    return first < 0 ? [] : all.slice(first, last + 1);
}

// The value below which `share` (0 to 1) of all lie, straight within its bucket. Null when there is nothing; the last
// bound when it lies above all of them, since more is not known.
export function percentile(histogram: Histogram, share: number): number | null {
    const all = total(histogram);
    if (all === 0) return null;
    const wanted = share * all;
    let below = 0;
    for (const bar of bars(histogram)) {
        if (bar.count > 0 && below + bar.count >= wanted)
            return bar.to_ms === null ? bar.from_ms : bar.from_ms + ((bar.to_ms - bar.from_ms) * (wanted - below)) / bar.count;
        below += bar.count;
    }
    return histogram.buckets_ms.at(-1) ?? null;
}
