// The last minutes of the overview, second by second, as columns that a chart can draw. What the daemon counts since its
// start becomes rates and recent figures here, by difference.

import type { Overview, OverviewHistory } from "../api/shapes";
import { difference, percentile, type Histogram } from "./histogram";

export const SPAN_MS = 600_000; // ten minutes
export const RATE_WINDOW_MS = 10_000;
// Long enough for a percentile to mean something on a quiet fleet, short enough to show what goes wrong now.
export const TIMES_WINDOW_MS = 30_000;
export const FAILURES_WINDOW_MS = 60_000;
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
export type Rates = Record<keyof Totals, Figure>;
// How long allocations took.
export interface Times {
    p50: Figure;
    p95: Figure;
    p99: Figure;
}
type Counts = Record<string, number>;

// As the daemon told it.
interface Told {
    time_ms: number;
    uptime_s: number;
    totals: Totals;
    byReason: Counts;
    times: Histogram;
    latency: Histogram;
    byRegion: Record<number, { requests: number; failures: number }>;
    load: number;
    capacity: number;
    players: number;
    idle: number;
    tickAverage: number;
    tickMax: number;
}

// With what the samples before it make of it, worked out once.
interface Sample extends Told {
    gap: boolean; // none of the figures is known here
    rates: Rates;
    recentTimes: Times;
    recentByReason: Counts;
}

export interface TrailColumns {
    seconds: number[];
    successes: Figure[];
    failures: Figure[];
    retries: Figure[];
    p50: Figure[];
    p95: Figure[];
    p99: Figure[];
    // Failures of the last minute, those that happen most first.
    byReason: Array<{ reason: string; values: Figure[] }>;
    load: Figure[];
    capacity: Figure[];
    players: Figure[];
    idle: Figure[];
    tickAverage: Figure[];
    tickMax: Figure[];
}

const NO_RATES: Rates = { requests: null, successes: null, failures: null, retries: null };
const NO_TIMES: Times = { p50: null, p95: null, p99: null };

export class Trail {
    private samples: Sample[] = [];

    push(overview: Overview): void {
        this.add(toldBy(overview));
    }

    // What the daemon has kept fills the holes: the time before the page was opened, or while it did not hear the daemon.
    fill(history: OverviewHistory): void {
        const kept = this.samples.filter((sample) => !sample.gap);
        const missing = toldByHistory(history).filter(
            (told) => !kept.some((sample) => Math.abs(sample.time_ms - told.time_ms) < history.every_ms),
        );
        this.samples = [];
        for (const told of [...kept, ...missing].sort((left, right) => left.time_ms - right.time_ms)) this.add(told);
    }

    private add(told: Told): void {
        const last = this.samples.at(-1);
        // Time that runs back is another daemon's, or a step of its wall clock: what we have cannot be compared.
        if (last !== undefined && told.time_ms < last.time_ms) this.samples = [];
        else if (last !== undefined && told.time_ms === last.time_ms) return;
        // After a restart the daemon counts from nothing.
        else if (last !== undefined && (told.time_ms - last.time_ms > GAP_MS || told.uptime_s < last.uptime_s))
            this.samples.push({ ...last, time_ms: last.time_ms + 1, gap: true });
        this.samples.push({ ...told, gap: false, rates: NO_RATES, recentTimes: NO_TIMES, recentByReason: {} });
        const young = this.samples.findIndex((sample) => told.time_ms - sample.time_ms <= SPAN_MS);
        if (young > 0) this.samples.splice(0, young);

        const newest = this.samples.at(-1);
        if (newest === undefined) return;
        newest.rates = this.rates();
        newest.recentTimes = this.recentTimes();
        newest.recentByReason = this.recentFailures(FAILURES_WINDOW_MS);
    }

    // How much each total grew in the last `windowMs`, per second. Null while there is nothing to compare with.
    rates(windowMs: number = RATE_WINDOW_MS): Rates {
        const { first, last, seconds } = this.window(windowMs);
        if (seconds === 0) return NO_RATES;
        const rate = (name: keyof Totals) => grown(first?.totals[name], last?.totals[name]) / seconds;
        return { requests: rate("requests"), successes: rate("successes"), failures: rate("failures"), retries: rate("retries") };
    }

    // How long the allocations of the last `windowMs` took. Null when there was none.
    recentTimes(windowMs: number = TIMES_WINDOW_MS): Times {
        const { first, last } = this.window(windowMs);
        if (first === undefined || last === undefined) return NO_TIMES;
        const times = difference(last.times, first.times);
        return { p50: percentile(times, 0.5), p95: percentile(times, 0.95), p99: percentile(times, 0.99) };
    }

    // Of one region: requests per second, and how many failed in the last minute.
    region(region: number): { requests: Figure; failures: Figure } {
        const count = (windowMs: number, name: "requests" | "failures") => {
            const { first, last, seconds } = this.window(windowMs);
            return { seconds, number: grown(first?.byRegion[region]?.[name], last?.byRegion[region]?.[name]) };
        };
        const requests = count(RATE_WINDOW_MS, "requests");
        if (requests.seconds === 0) return { requests: null, failures: null };
        return { requests: requests.number / requests.seconds, failures: count(FAILURES_WINDOW_MS, "failures").number };
    }

    // Failures of the last `windowMs` by reason; only those that happened.
    recentFailures(windowMs: number): Counts {
        const { first, last } = this.window(windowMs);
        const found: Counts = {};
        for (const [reason, count] of Object.entries(last?.byReason ?? {})) {
            const number = grown(first?.byReason[reason], count);
            if (number > 0) found[reason] = number;
        }
        return found;
    }

    // The players' latencies measured in the last `windowMs`.
    recentLatency(windowMs: number): Histogram {
        const { first, last } = this.window(windowMs);
        if (first === undefined || last === undefined) return { buckets_ms: [], counts: [] };
        return difference(last.latency, first.latency);
    }

    // From the oldest sample to the newest that it can be compared with.
    spanMs(): number {
        return this.window(Infinity).seconds * 1000;
    }

    columns(): TrailColumns {
        const column = (pick: (sample: Sample) => Figure): Figure[] => this.samples.map((sample) => (sample.gap ? null : pick(sample)));
        return {
            seconds: this.samples.map((sample) => sample.time_ms / 1000),
            successes: column((sample) => sample.rates.successes),
            failures: column((sample) => sample.rates.failures),
            retries: column((sample) => sample.rates.retries),
            p50: column((sample) => sample.recentTimes.p50),
            p95: column((sample) => sample.recentTimes.p95),
            p99: column((sample) => sample.recentTimes.p99),
            byReason: this.reasons().map((reason) => ({ reason, values: column((sample) => sample.recentByReason[reason] ?? 0) })),
            load: column((sample) => sample.load),
            capacity: column((sample) => sample.capacity),
            players: column((sample) => sample.players),
            idle: column((sample) => sample.idle),
            tickAverage: column((sample) => sample.tickAverage),
            tickMax: column((sample) => sample.tickMax),
        };
    }

    // Of the failures that the samples have seen.
    private reasons(): string[] {
        const most: Counts = {};
        for (const { recentByReason } of this.samples)
            for (const [reason, number] of Object.entries(recentByReason)) most[reason] = Math.max(most[reason] ?? 0, number);
        return Object.keys(most).sort((left, right) => (most[right] ?? 0) - (most[left] ?? 0) || (left < right ? -1 : 1));
    }

    // The newest sample, and the oldest that is in the window ending there with no gap between the two.
    private window(windowMs: number): { first: Sample | undefined; last: Sample | undefined; seconds: number } {
        const last = this.samples.at(-1);
        if (last === undefined) return { first: undefined, last, seconds: 0 };
        let first = last;
        for (let index = this.samples.length - 2; index >= 0; --index) {
            const sample = this.samples[index];
            if (sample === undefined || sample.gap || last.time_ms - sample.time_ms > windowMs) break;
            first = sample;
        }
        return { first, last, seconds: (last.time_ms - first.time_ms) / 1000 };
    }
}

// A total that is not there yet has counted nothing.
function grown(before: number | undefined, now: number | undefined): number {
    return Math.max(0, (now ?? 0) - (before ?? 0));
}

function toldByHistory({ allocation_buckets_ms, player_buckets_ms, samples }: OverviewHistory): Told[] {
    return samples.map((sample) => ({
        time_ms: sample.time_ms,
        uptime_s: sample.uptime_s,
        totals: {
            requests: sample.requests,
            successes: sample.successes,
            failures: sum(sample.failures),
            retries: sample.retries,
        },
        byReason: sample.failures,
        times: { buckets_ms: allocation_buckets_ms, counts: sample.allocation_counts },
        latency: { buckets_ms: player_buckets_ms, counts: sample.player_counts },
        byRegion: Object.fromEntries(sample.regions.map(({ id, requests, failures }) => [id, { requests, failures }])),
        load: sample.load,
        capacity: sample.capacity,
        players: sample.players,
        idle: sample.idle,
        tickAverage: sample.tick_avg_ms,
        tickMax: sample.tick_max_ms,
    }));
}

function sum(counts: Counts): number {
    return Object.values(counts).reduce((all, one) => all + one, 0);
}

function toldBy(overview: Overview): Told {
    const { allocations, loop, players, regions } = overview;
    return {
        time_ms: overview.time_ms,
        uptime_s: overview.uptime_s,
        totals: {
            requests: allocations.requests,
            successes: allocations.successes,
            failures: sum(allocations.failures),
            retries: allocations.retries,
        },
        byReason: allocations.failures,
        times: allocations.latency_ms,
        latency: players.latency_ms,
        byRegion: Object.fromEntries(regions.map(({ id, requests, failures }) => [id, { requests, failures }])),
        load: regions.reduce((sum, region) => sum + region.load, 0),
        capacity: regions.reduce((sum, region) => sum + region.capacity, 0),
        players: players.connected,
        idle: players.idle,
        tickAverage: loop.tick_avg_ms,
        tickMax: loop.tick_max_ms,
    };
}
