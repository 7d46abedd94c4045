// Where a chart's scale ends and where its lines are, so that both are numbers a person would choose.

const STEPS_MAX = 4;
const HEADROOM = 1.05; // so that the highest line is not cut in half
const ROUND = [1, 2, 2.5, 5, 10];
const PARTS = [4, 5, 3, 2, 1]; // the best first

// The lines from 0 up to the top, which is at least `least` and above `highest`. A whole `least` that is not passed, such
// as what a server has room for, is the top itself. `whole` for what comes in whole numbers only, such as matches.
export function scaleLines(highest: number, least: number, whole = false): number[] {
    const parts = highest > least || least < 2 ? undefined : PARTS.find((number) => least % number === 0);
    if (parts !== undefined) return Array.from({ length: parts + 1 }, (_, at) => (at * least) / parts);

    const wanted = highest > least ? highest * HEADROOM : least;
    const power = 10 ** Math.max(whole ? 0 : -Infinity, Math.floor(Math.log10(wanted / STEPS_MAX)));
    const fits = (round: number) => round * power * STEPS_MAX >= wanted && (!whole || Number.isInteger(round * power));
    const step = power * (ROUND.find(fits) ?? 10);
    const steps = Math.ceil(wanted / step);
    // Rounded, since 3 × 0.1 is not 0.3.
    return Array.from({ length: steps + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}
