import { useMemo } from "preact/hooks";
import type { Overview } from "../api/shapes";
import { count, figure, milliseconds, percent } from "../model/format";
import { filledBars, percentile } from "../model/histogram";
import type { TrailColumns } from "../model/trail";
import { Bar } from "./bar";
import { Chart } from "./chart";

export function PlayersPanel({ players, columns }: { players: Overview["players"]; columns: TrailColumns }) {
    const lines = useMemo(() => [{ label: "connected", colour: "--line-1", values: columns.players, filled: true }], [columns]);
    return (
        <section class="panel" aria-labelledby="players">
            <h2 id="players">Players</h2>
            <div class="halves">
                <Chart title="Connected" seconds={columns.seconds} lines={lines} format={figure} least={4} />
                <Latency histogram={players.latency_ms} />
            </div>
        </section>
    );
}

function Latency({ histogram }: { histogram: Overview["players"]["latency_ms"] }) {
    const shown = filledBars(histogram);
    if (shown.length === 0) return <p class="empty">No latency has been measured yet.</p>;
    const largest = Math.max(...shown.map((bar) => bar.share));
    return (
        <table class="histogram">
            <caption>
                Latency: p50 {milliseconds(percentile(histogram, 0.5))}, p95 {milliseconds(percentile(histogram, 0.95))}
            </caption>
            <thead class="unseen">
                <tr>
                    <th scope="col">Latency</th>
                    <th scope="col">Share</th>
                    <th scope="col">Players</th>
                </tr>
            </thead>
            <tbody>
                {shown.map((bar) => (
                    <tr key={bar.from_ms}>
                        <th scope="row" class="number">
                            {bar.to_ms === null ? `over ${milliseconds(bar.from_ms)}` : `to ${milliseconds(bar.to_ms)}`}
                        </th>
                        <td class="bar-cell">
                            <Bar percent={(100 * bar.share) / largest} />
                            <span class="unseen">{percent(100 * bar.share)}</span>
                        </td>
                        <td class="number">{count(bar.count)}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
