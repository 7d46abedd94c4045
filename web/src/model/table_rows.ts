// What a table shows of its rows: those that match, in order, one page of them.

export type Cell = string | number | boolean | null;

export interface Order {
    column: string;
    descending: boolean;
}

// A stable sort by what `value` gives. Numbers before text; what is not known is last in either direction.
export function sorted<Row>(rows: readonly Row[], value: (row: Row) => Cell, descending: boolean): Row[] {
    const keyed = rows.map((row) => ({ row, key: value(row) }));
    const direction = descending ? -1 : 1;
    keyed.sort((left, right) => {
        if (left.key === null || right.key === null) return (left.key === null ? 1 : 0) - (right.key === null ? 1 : 0);
        return direction * compare(left.key, right.key);
    });
    return keyed.map(({ row }) => row);
}

function compare(left: string | number | boolean, right: string | number | boolean): number {
    if (typeof left === "string" || typeof right === "string") {
        if (typeof left !== "string") return -1;
        if (typeof right !== "string") return 1;
        return left < right ? -1 : left > right ? 1 : 0;
    }
    return Number(left) - Number(right);
}

// Orders addresses as people count: 10.0.0.9 before 10.0.0.10.
export function addressKey(ip: string, port: number): string {
    const padded = ip.replace(/\d+/g, (number) => number.padStart(3, "0"));
    return `${padded}:${String(port).padStart(5, "0")}`;
}

// The order after a press on a column's header: first ascending, then descending.
export function pressed(order: Order, column: string): Order {
    return order.column === column ? { column, descending: !order.descending } : { column, descending: false };
}

// A test for rows: true when every word of `query` is somewhere in the given texts. The query is taken apart once, not
// for each of ten thousand rows.
export function finder(query: string): (...texts: Array<string | number>) => boolean {
    const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
    if (words.length === 0) return () => true;
    return (...texts) => {
        // Joined by what no word can hold, so that none is found across two texts.
        const all = texts.join("\n").toLowerCase();
        return words.every((word) => all.includes(word));
    };
}

export interface PageOfRows<Row> {
    rows: Row[];
    page: number; // from 0, within what there is
    pages: number; // at least 1
    first: number; // from 1; 0 when there are none
    last: number;
}

export function pageOf<Row>(rows: readonly Row[], page: number, size: number): PageOfRows<Row> {
    const pages = Math.max(1, Math.ceil(rows.length / size));
    const at = Math.min(Math.max(0, page), pages - 1);
    const shown = rows.slice(at * size, (at + 1) * size);
    return { rows: shown, page: at, pages, first: shown.length === 0 ? 0 : at * size + 1, last: at * size + shown.length };
}
