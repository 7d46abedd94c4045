// Where a chart's scale ends and where its lines are, so that both are numbers a person would choose.

const STEPS_MAX = 4;
const HEADROOM = 1.05; // so that the highest line is not cut in half
const ROUND = [1, 2, 2.5, 5, 10];
const PARTS = [4, 5, 3, 2, 1]; // the best first

// The lines from 0 up to the top, which is at least `least` and above `highest`. A whole `least` that is not passed, such
// as what a server has room for, is the top itself.
export function scaleLines(highest: number, least: number): number[] {
    const parts = highest > least || least < 2 ? undefined : PARTS.find((number) => least % number === 0);
    if (parts !== undefined) return Array.from({ length: parts + 1 }, (_, at) => (at * least) / parts);

    const wanted = highest > least ? highest * HEADROOM : least;
    const power = 10 ** Math.floor(Math.log10(wanted / STEPS_MAX));
    const step = power * (ROUND.find((round) => round * power * STEPS_MAX >= wanted) ?? 10);
    const steps = Math.ceil(wanted / step);
    // Rounded, since 3 × 0.1 is not 0.3.
    return Array.from({ length: steps + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}
