// A chart in words, for whoever does not see it.

import type { Figure } from "./trail";

export interface SummarisedLine {
    label: string;
    values: readonly Figure[];
}

export function chartSummary(title: string, lines: readonly SummarisedLine[], format: (value: number) => string): string {
    const parts = lines.map(({ label, values }) => {
        const known = values.filter((value): value is number => value !== null);
        if (known.length === 0) return `${label}: nothing yet`;
        const now = values.at(-1);
        return `${label}: now ${now === null || now === undefined ? "nothing" : format(now)}, lowest ${format(Math.min(...known))}, highest ${format(Math.max(...known))}`;
    });
    return `${title}. ${parts.join("; ")}.`;
}
