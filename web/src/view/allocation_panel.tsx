import { useMemo } from "preact/hooks";
import type { Overview } from "../api/shapes";
import { count, duration, figure, milliseconds, millisecondsScale, perSecond, reasonWords } from "../model/format";
import { TIMES_WINDOW_MS, type Figure, type Trail, type TrailColumns } from "../model/trail";
import { Chart, type ChartLine } from "./chart";

const RECENT_MS = 5 * 60_000;
const REASON_COLOURS = ["--line-bad", "--line-3", "--line-2", "--line-1"];
const OTHER_COLOUR = "--line-4";

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
    const failures = useMemo(() => failureLines(columns.byReason), [columns]);
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
            <div class="halves">
                <Chart title="Per second" seconds={columns.seconds} lines={rates} format={perSecond} />
                <Chart
                    title={`Time to answer, last ${duration(TIMES_WINDOW_MS)}`}
                    seconds={columns.seconds}
                    lines={times}
                    format={milliseconds}
                    scale={millisecondsScale}
                />
                <Chart title="Failures by reason, last minute" seconds={columns.seconds} lines={failures} format={figure} least={4} whole none="none" />
                <Chart title="Matches on the fleet" seconds={columns.seconds} lines={room} format={figure} least={4} whole />
            </div>
            <SinceStart overview={overview} />
            <Failures overview={overview} trail={trail} />
        </section>
    );
}

// A line for each of the commonest reasons, one for all others together.
function failureLines(byReason: TrailColumns["byReason"]): ChartLine[] {
    const shown = byReason.slice(0, REASON_COLOURS.length);
    const others = byReason.slice(REASON_COLOURS.length);
    const lines = shown.map(({ reason, values }, at) => ({ label: reasonWords(reason), colour: REASON_COLOURS[at] ?? OTHER_COLOUR, values }));
    if (others.length === 0) return lines;
    const sum = (at: number): Figure => others.reduce<Figure>((all, { values }) => add(all, values[at] ?? null), 0);
    return [...lines, { label: "other reasons", colour: OTHER_COLOUR, values: (others[0]?.values ?? []).map((_, at) => sum(at)) }];
}

function add(one: Figure, other: Figure): Figure {
    return one === null || other === null ? null : one + other;
}

function SinceStart({ overview }: { overview: Overview }) {
    const { requests, successes, retries, p50_ms, p95_ms, p99_ms } = overview.allocations;
    if (requests === 0) return <p class="empty">Nobody has asked for a match since Muster started.</p>;
    return (
        <p class="detail since">
            Since the start {count(requests)} asked for, {count(successes)} succeeded, {count(retries)} {retries === 1 ? "retry" : "retries"}
            {successes > 0 && `; p50 ${milliseconds(p50_ms)}, p95 ${milliseconds(p95_ms)}, p99 ${milliseconds(p99_ms)}`}
        </p>
    );
}

function Failures({ overview, trail }: { overview: Overview; trail: Trail }) {
    const recent = trail.recentFailures(RECENT_MS);
    const all = Object.entries(overview.allocations.failures).filter(([, number]) => number > 0);
    all.sort(([left, leftAll], [right, rightAll]) => (recent[right] ?? 0) - (recent[left] ?? 0) || rightAll - leftAll);
    if (all.length === 0) return overview.allocations.requests > 0 ? <p class="empty">No allocation has failed.</p> : null;
    return (
        <table>
            <caption>Failures by reason</caption>
            <thead>
                <tr>
                    <th scope="col">Reason</th>
                    <th scope="col" class="number">
                        {trail.spanMs() > 0 ? `Last ${duration(Math.min(RECENT_MS, trail.spanMs()))}` : "Recently"}
                    </th>
                    <th scope="col" class="number">
                        Since start
                    </th>
                </tr>
            </thead>
            <tbody>
                {all.map(([reason, number]) => (
                    <tr key={reason}>
                        <th scope="row">{reasonWords(reason)}</th>
                        <td class="number">{count(recent[reason] ?? 0)}</td>
                        <td class="number">{count(number)}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
