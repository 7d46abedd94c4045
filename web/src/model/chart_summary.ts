// A chart in words, for whoever does not see it.

import type { Figure } from "./trail";

export interface SummarisedLine {
    label: string;
    values: readonly Figure[];
}

export function chartSummary(title: string, lines: readonly SummarisedLine[], format: (value: number) => string): string {
    const parts = lines.map(({ label, values }) => {
        const known = values.filter((value): value is number => value !== null);
        const now = known.at(-1);
        if (now === undefined) return `${label}: nothing yet`;
        return `${label}: now ${format(now)}, lowest ${format(Math.min(...known))}, highest ${format(Math.max(...known))}`;
    });
    return `${title}. ${parts.join("; ")}.`;
}
