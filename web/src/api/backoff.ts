// How long to wait before trying again: doubling from half a second to five, half of it by chance, so that many open
// pages do not come back to a restarted daemon at the same instant.

const FIRST_MS = 500;
const MAX_MS = 5_000;

export function backoffMs(failures: number, chance: () => number = Math.random): number {
    const whole = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures, 10));
    return whole / 2 + (whole / 2) * chance();
}
