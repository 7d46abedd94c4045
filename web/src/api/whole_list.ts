// A list of the API, page by page, up to a limit that a browser bears well.

import type { Api } from "./api";

export const PAGE_ROWS = 1_000;
export const ROWS_MAX = 20_000;

export interface WholeList<Row> {
    rows: Row[];
    // There are more than ROWS_MAX; these are the first by id.
    cut: boolean;
}

// `progress` gets the rows so far after each page but the last.
export async function wholeList<Row>(
    api: Pick<Api, "get">,
    name: "servers" | "matches" | "players" | "matchmakers" | "hosts" | "operators" | "blocks",
    signal: AbortSignal,
    progress: (rows: Row[]) => void = () => {},
): Promise<WholeList<Row>> {
    const rows: Row[] = [];
    let after = "";
    while (rows.length < ROWS_MAX) {
        const page = await api.get<Record<string, Row[]> & { next: number | string | null }>(
            `${name}?limit=${PAGE_ROWS}${after}`,
            signal,
        );
        const fresh = page[name] ?? [];
        for (const row of fresh) rows.push(row);
        if (page.next === null || page.next === undefined || fresh.length === 0) return { rows, cut: false };
        after = `&after=${encodeURIComponent(page.next)}`;
        progress(rows.slice());
    }
    return { rows, cut: true };
}
