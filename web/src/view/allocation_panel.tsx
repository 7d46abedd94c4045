import { useMemo } from "preact/hooks";
import type { Overview } from "../api/shapes";
import { count, duration, figure, foreign, milliseconds, perSecond } from "../model/format";
import type { Trail, TrailColumns } from "../model/trail";
import { Chart } from "./chart";

const RECENT_MS = 5 * 60_000;

interface AllocationPanelProps {
    overview: Overview;
    trail: Trail;
    columns: TrailColumns;
}

export function AllocationPanel({ overview, trail, columns }: AllocationPanelProps) {
    const rates = useMemo(
        () => [
            { label: "succeeded", colour: "--line-1", values: columns.successes, filled: true },
            { label: "failed", colour: "--line-bad", values: columns.failures },
            { label: "retries", colour: "--line-3", values: columns.retries },
        ],
        [columns],
    );
    const times = useMemo(
        () => [
            { label: "p50", colour: "--line-1", values: columns.p50 },
            { label: "p95", colour: "--line-2", values: columns.p95 },
            { label: "p99", colour: "--line-3", values: columns.p99 },
        ],
        [columns],
    );
    const room = useMemo(
        () => [
            { label: "in use", colour: "--line-1", values: columns.load, filled: true },
            { label: "room for", colour: "--line-2", values: columns.capacity },
        ],
        [columns],
    );
    return (
        <section class="panel" aria-labelledby="allocations">
            <h2 id="allocations">Allocations</h2>
            <div class="thirds">
                <Chart title="Per second" seconds={columns.seconds} lines={rates} format={perSecond} />
                <Chart title="Time to answer" seconds={columns.seconds} lines={times} format={milliseconds} />
                <Chart title="Matches on the fleet" seconds={columns.seconds} lines={room} format={figure} least={4} />
            </div>
            <Failures overview={overview} trail={trail} />
        </section>
    );
}

function Failures({ overview, trail }: { overview: Overview; trail: Trail }) {
    const recent = trail.recentFailures(RECENT_MS);
    const all = Object.entries(overview.allocations.failures).filter(([, number]) => number > 0);
    all.sort(([left, leftAll], [right, rightAll]) => (recent[right] ?? 0) - (recent[left] ?? 0) || rightAll - leftAll);
    if (all.length === 0) return <p class="empty">No allocation has failed since Muster started.</p>;
    return (
        <table>
            <caption>Failures by reason</caption>
            <thead>
                <tr>
                    <th scope="col">Reason</th>
                    <th scope="col" class="number">
                        Last {duration(Math.min(RECENT_MS, trail.spanMs()))}
                    </th>
                    <th scope="col" class="number">
                        Since start
                    </th>
                </tr>
            </thead>
            <tbody>
                {all.map(([reason, number]) => (
                    <tr key={reason}>
                        <th scope="row">{foreign(reason)}</th>
                        <td class="number">{count(recent[reason] ?? 0)}</td>
                        <td class="number">{count(number)}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
