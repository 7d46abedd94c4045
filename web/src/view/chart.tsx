// Lines over time. The picture has a sentence beside it that says the same, and a legend with the figures under the cursor.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { scaleLines } from "../model/chart_scale";
import { chartSummary } from "../model/chart_summary";
import { timeOfDay } from "../model/format";
import type { Figure } from "../model/trail";
import { usePage, useStore } from "./page_context";

export interface ChartLine {
    label: string;
    // A colour of the style sheet: "--line-1".
    colour: string;
    values: Figure[];
    filled?: boolean;
}

interface ChartProps {
    title: string;
    seconds: number[];
    lines: ChartLine[];
    format: (value: number) => string;
    // What stands at the lines of the scale, where it is not each by `format`.
    scale?: (levels: readonly number[]) => string[];
    // The top of the scale at least.
    least?: number;
    // What it counts comes in whole numbers only.
    whole?: boolean;
    // What a chart without any line says, when that is good news.
    none?: string;
}

const HEIGHT = 150;
const SPAN_SECONDS_MIN = 60;
// A cursor in one chart points at the same moment in all others, so that they can be compared.
const SYNC_KEY = "moment";

export function Chart({ title, seconds, lines, format, scale = (levels) => levels.map(format), least = 1, whole = false, none = "" }: ChartProps) {
    const place = useRef<HTMLDivElement>(null);
    const chart = useRef<uPlot | null>(null);
    const [pointed, setPointed] = useState<number | null>(null);
    const scheme = useColourScheme();
    const shape = lines.map(({ label, colour }) => `${label} ${colour}`).join();

    // The picture's parts depend on which lines there are and on the colours; figures are only handed over.
    useEffect(() => {
        const element = place.current;
        if (element === null) return;
        const made = new uPlot(optionsOf(element, lines, scale, (highest) => scaleLines(highest, least, whole), setPointed), dataOf(seconds, lines), element);
        chart.current = made;
        const watcher = new ResizeObserver(() => {
            if (element.clientWidth > 0) made.setSize({ width: element.clientWidth, height: HEIGHT });
        });
        watcher.observe(element);
        return () => {
            watcher.disconnect();
            made.destroy();
            chart.current = null;
        };
    }, [shape, scheme]);

    useEffect(() => chart.current?.setData(dataOf(seconds, lines)), [seconds, lines]);

    const at = pointed !== null && pointed < seconds.length ? pointed : null;
    const summary = useMemo(() => (lines.length > 0 ? chartSummary(title, lines, format) : `${title}: ${none}.`), [title, lines, none]);
    return (
        <figure class="chart">
            <figcaption>
                {title}
                {at !== null && <span class="pointed">{timeOfDay((seconds[at] ?? 0) * 1000)}</span>}
            </figcaption>
            <div ref={place} class="canvas" role="img" aria-label={summary} hidden={seconds.length === 0} />
            {seconds.length === 0 && <p class="empty canvas">Nothing yet</p>}
            <ul class="legend" aria-hidden="true">
                {lines.length === 0 && <li>{none}</li>}
                {lines.map(({ label, colour, values }) => {
                    const value = at === null ? values.at(-1) : values[at];
                    return (
                        <li key={label}>
                            <span class={`swatch ${colour.slice(2)}`} />
                            {label} <b>{value === null || value === undefined ? "–" : format(value)}</b>
                        </li>
                    );
                })}
            </ul>
        </figure>
    );
}

function dataOf(seconds: number[], lines: ChartLine[]): uPlot.AlignedData {
    return [seconds, ...lines.map((line) => line.values)];
}

function optionsOf(
    element: HTMLElement,
    lines: ChartLine[],
    scale: (levels: readonly number[]) => string[],
    levelsUpTo: (highest: number) => number[],
    pointed: (at: number | null) => void,
): uPlot.Options {
    const text = colourOf(element, "--muted");
    const grid = { stroke: colourOf(element, "--line"), width: 1 };
    const font = "11px system-ui, sans-serif";
    let levels: number[] = [];
    return {
        width: Math.max(element.clientWidth, 100),
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, y: false, points: { size: 6 }, sync: { key: SYNC_KEY } },
        scales: {
            x: { time: true, range: spanOf },
            y: {
                range: (_, __, highest) => {
                    levels = levelsUpTo(highest ?? 0);
                    return [0, levels.at(-1) ?? 1];
                },
            },
        },
        axes: [
            {
                stroke: text,
                font,
                grid: { show: false },
                ticks: grid,
                size: 26,
                space: 70,
                values: (_, splits) => splits.map((second) => timeOfDay(second * 1000)),
            },
            { stroke: text, font, grid, ticks: { show: false }, size: 58, splits: () => levels, values: (_, splits) => scale(splits) },
        ],
        series: [
            {},
            ...lines.map((line) => {
                const stroke = colourOf(element, line.colour);
                return { label: line.label, stroke, width: 1.5, points: { show: fewPoints, size: 5 }, fill: line.filled ? faint(stroke) : undefined };
            }),
        ],
        hooks: { setCursor: [(made) => pointed(made.cursor.idx ?? null)] },
    };
}

// A line of one point would not be seen.
function fewPoints(made: uPlot): boolean {
    return made.data[0].length < 3;
}

// From the first to the last, and never less than a minute. Taken from the figures: what uPlot proposes for a single
// one is a whole day.
function spanOf(made: uPlot): uPlot.Range.MinMax {
    const first = made.data[0][0] ?? 0;
    const last = made.data[0].at(-1) ?? SPAN_SECONDS_MIN;
    return [Math.min(first, last - SPAN_SECONDS_MIN), last];
}

// A canvas wants the colour itself; the style sheet knows which one holds now.
function colourOf(element: HTMLElement, name: string): string {
    const before = element.style.color;
    element.style.color = `var(${name})`;
    const colour = getComputedStyle(element).color;
    element.style.color = before;
    return colour;
}

function faint(colour: string): string {
    return colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.12)");
}

// Changes when the page goes from light to dark or back, by the switch or by the system.
function useColourScheme(): string {
    const { theme } = usePage();
    const chosen = useStore(theme.theme);
    const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
    useEffect(() => {
        const query = matchMedia("(prefers-color-scheme: dark)");
        const changed = () => setDark(query.matches);
        query.addEventListener("change", changed);
        return () => query.removeEventListener("change", changed);
    }, []);
    return chosen === "system" ? (dark ? "dark" : "light") : chosen;
}
