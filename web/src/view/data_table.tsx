// A table of many rows: ordered by a press on a header, a page of them at a time, so that ten thousand cost no more
// than fifty.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { count } from "../model/format";
import { pageOf, pressed, sorted, type Cell, type Order } from "../model/table_rows";

export interface Column<Row> {
    name: string;
    label: string;
    // What it is ordered by; columns without it (buttons) are not.
    value?: (row: Row) => Cell;
    show: (row: Row) => ComponentChildren;
    numeric?: boolean;
    // Left out on a phone.
    wide?: boolean;
    // Left out on a tablet too: wanted least.
    widest?: boolean;
}

interface DataTableProps<Row> {
    caption: string;
    columns: readonly Column<Row>[];
    rows: readonly Row[];
    rowKey: (row: Row) => number | string;
    first: Order;
    empty: string;
    // A change of it (another filter) goes back to the first page.
    subject: string;
    // Rows can be ticked.
    selection?: RowSelection<Row>;
}

export interface RowSelection<Row> {
    has: (row: Row) => boolean;
    set: (rows: readonly Row[], ticked: boolean) => void;
    label: (row: Row) => string;
}

const PAGE_SIZES = [50, 100, 250];

export function DataTable<Row>({ caption, columns, rows, rowKey, first, empty, subject, selection }: DataTableProps<Row>) {
    const [order, setOrder] = useState(first);
    const [page, setPage] = useState(0);
    const [size, setSize] = useState(PAGE_SIZES[0] ?? 50);
    useEffect(() => setPage(0), [subject, order, size]);

    const ordered = useMemo(() => {
        const value = columns.find((column) => column.name === order.column)?.value;
        return value === undefined ? rows : sorted(rows, value, order.descending);
    }, [rows, order]);
    const shown = pageOf(ordered, page, size);

    return (
        <>
            <table>
                <caption class="unseen">{caption}</caption>
                <thead>
                    <tr>
                        {selection !== undefined && <TickAll rows={shown.rows} selection={selection} />}
                        {columns.map((column) => (
                            <Header key={column.name} column={column} order={order} press={() => setOrder(pressed(order, column.name))} />
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {shown.rows.map((row) => (
                        <tr key={rowKey(row)}>
                            {selection !== undefined && (
                                <td class="tick">
                                    <input
                                        type="checkbox"
                                        aria-label={selection.label(row)}
                                        checked={selection.has(row)}
                                        onChange={(event) => selection.set([row], event.currentTarget.checked)}
                                    />
                                </td>
                            )}
                            {columns.map((column, at) => cell(column, row, at === 0))}
                        </tr>
                    ))}
                </tbody>
            </table>
            {shown.rows.length === 0 && <p class="empty">{empty}</p>}
            {rows.length > (PAGE_SIZES[0] ?? 0) && (
                <nav class="pager" aria-label={`Pages of ${caption}`}>
                    <button type="button" disabled={shown.page === 0} onClick={() => setPage(0)}>
                        First
                    </button>
                    <button type="button" disabled={shown.page === 0} onClick={() => setPage(shown.page - 1)}>
                        Previous
                    </button>
                    <span>
                        {count(shown.first)}–{count(shown.last)} of {count(rows.length)}
                    </span>
                    <span class="unseen" role="status">
                        Page {shown.page + 1}
                    </span>
                    <button type="button" disabled={shown.page + 1 === shown.pages} onClick={() => setPage(shown.page + 1)}>
                        Next
                    </button>
                    <button type="button" disabled={shown.page + 1 === shown.pages} onClick={() => setPage(shown.pages - 1)}>
                        Last
                    </button>
                    <label>
                        Rows{" "}
                        <select value={size} onChange={(event) => setSize(Number(event.currentTarget.value))}>
                            {PAGE_SIZES.map((each) => (
                                <option key={each} value={each}>
                                    {each}
                                </option>
                            ))}
                        </select>
                    </label>
                </nav>
            )}
        </>
    );
}

// Ticks what this page of the table shows.
function TickAll<Row>({ rows, selection }: { rows: readonly Row[]; selection: RowSelection<Row> }) {
    const ticked = rows.filter(selection.has).length;
    return (
        <td class="tick">
            <input
                type="checkbox"
                aria-label="Select all on this page"
                checked={ticked > 0 && ticked === rows.length}
                disabled={rows.length === 0}
                ref={(box) => {
                    if (box !== null) box.indeterminate = ticked > 0 && ticked < rows.length;
                }}
                onChange={(event) => selection.set(rows, event.currentTarget.checked)}
            />
        </td>
    );
}

function classes<Row>(column: Column<Row>): string | undefined {
    const names = [column.numeric === true && "number", column.wide === true && "wide", column.widest === true && "widest"].filter(
        (name) => name !== false,
    );
    return names.length > 0 ? names.join(" ") : undefined;
}

function cell<Row>(column: Column<Row>, row: Row, heads: boolean) {
    const content = column.show(row);
    return heads ? (
        <th key={column.name} scope="row" class={classes(column)}>
            {content}
        </th>
    ) : (
        <td key={column.name} class={classes(column)}>
            {content}
        </td>
    );
}

function Header<Row>({ column, order, press }: { column: Column<Row>; order: Order; press: () => void }) {
    const mine = order.column === column.name;
    const direction = mine ? (order.descending ? "descending" : "ascending") : undefined;
    return (
        <th scope="col" class={classes(column)} aria-sort={direction}>
            {column.value === undefined ? (
                <span class="unseen">{column.label}</span>
            ) : (
                <button type="button" class="order" onClick={press}>
                    {column.label}
                    <span aria-hidden="true">{mine ? (order.descending ? " ▼" : " ▲") : ""}</span>
                </button>
            )}
        </th>
    );
}
