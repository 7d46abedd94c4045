import { useMemo } from "preact/hooks";
import type { Overview } from "../api/shapes";
import { count, duration, figure, milliseconds, percent } from "../model/format";
import { filledBars, percentile, total, type Histogram } from "../model/histogram";
import type { Trail, TrailColumns } from "../model/trail";
import { Bar } from "./bar";
import { Chart } from "./chart";

const RECENT_MS = 5 * 60_000;
// Every player is pinged at least once in this time; before it has passed, what was measured is no fair picture.
const RECENT_MS_MIN = 60_000;
const PERCENTILES = [
    ["p50", 0.5],
    ["p95", 0.95],
    ["p99", 0.99],
] as const;

interface PlayersPanelProps {
    players: Overview["players"];
    trail: Trail;
    columns: TrailColumns;
}

export function PlayersPanel({ players, trail, columns }: PlayersPanelProps) {
    const lines = useMemo(
        () => [
            { label: "connected", colour: "--line-1", values: columns.players, filled: true },
            { label: "idle", colour: "--line-3", values: columns.idle },
        ],
        [columns],
    );
    return (
        <section class="panel" aria-labelledby="players">
            <h2 id="players">Players</h2>
            <div class="halves">
                <Chart title="Connected" seconds={columns.seconds} lines={lines} format={figure} least={4} whole />
                <Latency {...latencyOf(players, trail)} />
            </div>
        </section>
    );
}

function latencyOf(players: Overview["players"], trail: Trail): { histogram: Histogram; since: string } {
    const recent = trail.recentLatency(RECENT_MS);
    const span = Math.min(RECENT_MS, trail.spanMs());
    if (span >= RECENT_MS_MIN && total(recent) > 0) return { histogram: recent, since: `last ${duration(span)}` };
    return { histogram: players.latency_ms, since: "since the start" };
}

function Latency({ histogram, since }: { histogram: Histogram; since: string }) {
    const shown = filledBars(histogram);
    if (shown.length === 0) return <p class="empty">No latency has been measured yet.</p>;
    const largest = Math.max(...shown.map((bar) => bar.share));
    return (
        <div>
            <table class="histogram">
                <caption>
                    Latency, {since}, {count(total(histogram))} pings
                </caption>
                <thead class="unseen">
                    <tr>
                        <th scope="col">Latency</th>
                        <th scope="col">Bar</th>
                        <th scope="col">Share of the pings</th>
                    </tr>
                </thead>
                <tbody>
                    {shown.map((bar) => (
                        <tr key={bar.from_ms}>
                            <th scope="row" class="number">
                                {bar.to_ms === null ? `over ${milliseconds(bar.from_ms)}` : `to ${milliseconds(bar.to_ms)}`}
                            </th>
                            <td>
                                <Bar percent={(100 * bar.share) / largest} />
                            </td>
                            <td class="number" title={`${count(bar.count)} pings`}>
                                {bar.count > 0 && bar.share < 0.005 ? "<\u00A01\u00A0%" : percent(100 * bar.share)}
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
            <ul class="legend">
                {PERCENTILES.map(([name, part]) => (
                    <li key={name}>
                        {name} <b>{milliseconds(percentile(histogram, part))}</b>
                    </li>
                ))}
            </ul>
        </div>
    );
}
