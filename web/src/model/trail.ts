// The last minutes of the overview, second by second, as columns that a chart can draw. Counters become rates here.

import type { Overview } from "../api/shapes";
import type { Histogram } from "./histogram";

export const SAMPLES_MAX = 600; // ten minutes
export const RATE_WINDOW_MS = 10_000;
// Samples further apart than this have a gap between them: the daemon was away, or the page was asleep.
export const GAP_MS = 5_000;

export type Figure = number | null;

// Totals that only grow while the daemon runs.
interface Totals {
    requests: number;
    successes: number;
    failures: number;
    retries: number;
}

interface Sample {
    time_ms: number;
    gap: boolean; // none of the figures is known here
    totals: Totals;
    byReason: Record<string, number>;
    latency: Histogram;
    byRegion: Record<number, { requests: number; failures: number }>;
    p50: Figure;
    p95: Figure;
    p99: Figure;
    load: number;
    capacity: number;
    players: number;
    idle: number;
    tickAverage: number;
    tickMax: number;
}

export interface TrailColumns {
    seconds: number[];
    successes: Figure[];
    failures: Figure[];
    retries: Figure[];
    p50: Figure[];
    p95: Figure[];
    p99: Figure[];
    load: Figure[];
    capacity: Figure[];
    players: Figure[];
    idle: Figure[];
    tickAverage: Figure[];
    tickMax: Figure[];
}

export class Trail {
    private samples: Sample[] = [];

    push(overview: Overview): void {
        const last = this.samples.at(-1);
        // Time that stands still or runs back is another daemon's, or a step of its wall clock: what we have cannot be compared.
        if (last !== undefined && overview.time_ms < last.time_ms) this.samples = [];
        else if (last !== undefined && overview.time_ms === last.time_ms) return;
        else if (last !== undefined && overview.time_ms - last.time_ms > GAP_MS)
            this.samples.push({ ...last, time_ms: last.time_ms + 1, gap: true });
        this.samples.push(sampleOf(overview));
        if (this.samples.length > SAMPLES_MAX) this.samples.splice(0, this.samples.length - SAMPLES_MAX);
    }

    // How much each total grew in the last `windowMs`, per second. Null while there is nothing to compare with.
    rates(windowMs: number = RATE_WINDOW_MS): Record<keyof Totals, Figure> {
        return ratesAt(this.samples, this.samples.length - 1, windowMs);
    }

    // Of one region, as rates().
    regionRates(region: number, windowMs: number = RATE_WINDOW_MS): { requests: Figure; failures: Figure } {
        const window = this.window(windowMs);
        const seconds = spanSeconds(window);
        if (seconds === 0) return { requests: null, failures: null };
        const rate = (name: "requests" | "failures") => increase(window.map((sample) => sample.byRegion[region]?.[name] ?? 0)) / seconds;
        return { requests: rate("requests"), failures: rate("failures") };
    }

    // Failures of the last `windowMs` by reason; only those that happened.
    recentFailures(windowMs: number): Record<string, number> {
        const window = this.window(windowMs);
        const found: Record<string, number> = {};
        const reasons = new Set(window.flatMap((sample) => Object.keys(sample.byReason)));
        for (const reason of reasons) {
            const grown = increase(window.map((sample) => sample.byReason[reason] ?? 0));
            if (grown > 0) found[reason] = grown;
        }
        return found;
    }

    // The latencies measured in the last `windowMs`.
    recentLatency(windowMs: number): Histogram {
        const window = this.window(windowMs);
        const { buckets_ms, counts } = window.at(-1)?.latency ?? { buckets_ms: [], counts: [] };
        return { buckets_ms, counts: counts.map((_, at) => increase(window.map((sample) => sample.latency.counts[at] ?? 0))) };
    }

    // From the oldest sample to the newest.
    spanMs(): number {
        return (this.samples.at(-1)?.time_ms ?? 0) - (this.samples[0]?.time_ms ?? 0);
    }

    columns(): TrailColumns {
        const all = this.samples;
        const column = (pick: (sample: Sample) => Figure): Figure[] => all.map((sample) => (sample.gap ? null : pick(sample)));
        const rates = all.map((_, at) => ratesAt(all, at, RATE_WINDOW_MS));
        return {
            seconds: all.map((sample) => sample.time_ms / 1000),
            successes: rates.map((rate) => rate.successes),
            failures: rates.map((rate) => rate.failures),
            retries: rates.map((rate) => rate.retries),
            p50: column((sample) => sample.p50),
            p95: column((sample) => sample.p95),
            p99: column((sample) => sample.p99),
            load: column((sample) => sample.load),
            capacity: column((sample) => sample.capacity),
            players: column((sample) => sample.players),
            idle: column((sample) => sample.idle),
            tickAverage: column((sample) => sample.tickAverage),
            tickMax: column((sample) => sample.tickMax),
        };
    }

    private window(windowMs: number): Sample[] {
        return this.samples.slice(firstWithin(this.samples, this.samples.length - 1, windowMs));
    }
}

// How much a total grew over these readings. A fall is a restart, after which it counted from nothing.
export function increase(totals: number[]): number {
    let grown = 0;
    for (let at = 1; at < totals.length; ++at) {
        const before = totals[at - 1] ?? 0;
        const now = totals[at] ?? 0;
        grown += now >= before ? now - before : now;
    }
    return grown;
}

function ratesAt(samples: Sample[], at: number, windowMs: number): Record<keyof Totals, Figure> {
    const none = { requests: null, successes: null, failures: null, retries: null };
    const newest = samples[at];
    if (newest === undefined || newest.gap) return none;
    const window = samples.slice(firstWithin(samples, at, windowMs), at + 1);
    const seconds = spanSeconds(window);
    if (seconds === 0) return none;
    const rate = (name: keyof Totals) => increase(window.map((sample) => sample.totals[name])) / seconds;
    return {
        requests: rate("requests"),
        successes: rate("successes"),
        failures: rate("failures"),
        retries: rate("retries"),
    };
}

function spanSeconds(window: Sample[]): number {
    return ((window.at(-1)?.time_ms ?? 0) - (window[0]?.time_ms ?? 0)) / 1000;
}

// The first sample that is in the window ending at `at`, with no gap between the two.
function firstWithin(samples: Sample[], at: number, windowMs: number): number {
    const end = samples[at]?.time_ms ?? 0;
    let from = at;
    for (let index = at - 1; index >= 0; --index) {
        const sample = samples[index];
        if (sample === undefined || sample.gap || end - sample.time_ms > windowMs) break;
        from = index;
    }
    return Math.max(from, 0);
}

function sampleOf(overview: Overview): Sample {
    const { allocations, loop, players, regions } = overview;
    // Before the first answer the daemon says 0, which would look very fast.
    const answered = allocations.successes > 0;
    return {
        time_ms: overview.time_ms,
        gap: false,
        totals: {
            requests: allocations.requests,
            successes: allocations.successes,
            failures: Object.values(allocations.failures).reduce((sum, count) => sum + count, 0),
            retries: allocations.retries,
        },
        byReason: allocations.failures,
        latency: players.latency_ms,
        byRegion: Object.fromEntries(regions.map(({ id, requests, failures }) => [id, { requests, failures }])),
        p50: answered ? allocations.p50_ms : null,
        p95: answered ? allocations.p95_ms : null,
        p99: answered ? allocations.p99_ms : null,
        load: regions.reduce((sum, region) => sum + region.load, 0),
        capacity: regions.reduce((sum, region) => sum + region.capacity, 0),
        players: players.connected,
        idle: players.idle,
        tickAverage: loop.tick_avg_ms,
        tickMax: loop.tick_max_ms,
    };
}
