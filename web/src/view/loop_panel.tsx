import { useMemo } from "preact/hooks";
import type { Overview } from "../api/shapes";
import { count, figure, milliseconds, millisecondsScale, perSecond } from "../model/format";
import type { TrailColumns } from "../model/trail";
import { Chart } from "./chart";

export function LoopPanel({ overview, columns }: { overview: Overview; columns: TrailColumns }) {
    const { loop } = overview;
    const lines = useMemo(
        () => [
            { label: "average", colour: "--line-1", values: columns.tickAverage },
            { label: "longest", colour: "--line-3", values: columns.tickMax },
        ],
        [columns],
    );
    return (
        <section class="panel" aria-labelledby="loop">
            <h2 id="loop">Game loop</h2>
            <Chart title="Pass time" seconds={columns.seconds} lines={lines} format={milliseconds} scale={millisecondsScale} />
            <dl class="facts four">
                <div>
                    <dt>Passes</dt>
                    <dd>{perSecond(loop.ticks_per_second)}</dd>
                </div>
                <div>
                    <dt>Messages</dt>
                    <dd>{perSecond(loop.messages_per_second)}</dd>
                </div>
                <div>
                    <dt>Overruns</dt>
                    <dd>{count(loop.overruns)}</dd>
                </div>
                <div>
                    <dt>Errors</dt>
                    <dd class={loop.callback_errors > 0 ? "wrong" : undefined}>{figure(loop.callback_errors)}</dd>
                </div>
            </dl>
        </section>
    );
}
