// What the three list views share: the filter's row, how many there are, and what is wrong.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { ROWS_MAX } from "../api/whole_list";
import { count, foreign } from "../model/format";
import { usePage } from "./page_context";
import type { LoadedList } from "./use_list";

interface ListFrameProps<Row> {
    list: LoadedList<Row>;
    noun: readonly [one: string, many: string];
    matching: number;
    // What is asked for; another one is another list.
    subject: string;
    children: ComponentChildren;
    filters: ComponentChildren;
}

export function ListFrame<Row>({ list, noun, matching, subject, filters, children }: ListFrameProps<Row>) {
    const all = list.rows.length;
    const size = list.loading && all === 0 ? "" : `${matching === all ? "" : `${count(matching)} of `}${count(all)} ${noun[all === 1 ? 0 : 1]}`;
    // Told when the filter changes, not each time the fleet does.
    const told = useRef({ subject: "", text: "" });
    if (told.current.subject !== subject) told.current = { subject, text: size };
    return (
        <section class="panel list" aria-labelledby="view-title">
            <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
                {filters}
                <p class="count">{size}</p>
                <p class="unseen" role="status">
                    {told.current.text}
                </p>
            </form>
            {list.cut && (
                <p class="note">
                    There are more than {count(ROWS_MAX)}; these are the first {count(all)} by id. The <code>muster</code> command and the API
                    page through all of them.
                </p>
            )}
            {list.error !== null && <p class="note wrong">The list could not be loaded: {foreign(list.error)}.</p>}
            {children}
        </section>
    );
}

// Why a table is empty: nothing came yet, nothing is there, or nothing fits.
export function emptyText<Row>(list: LoadedList<Row>, nothing: string, noMatch: string): string {
    if (list.loading) return list.error === null ? "Loading…" : "Not loaded.";
    return list.rows.length === 0 ? nothing : noMatch;
}

export function TextFilter({ name, label, hint, short = false }: { name: string; label: string; hint: string; short?: boolean }) {
    const { route } = usePage();
    return (
        <label>
            {label}
            <input
                type="search"
                class={short ? "short" : undefined}
                placeholder={hint}
                value={route.route.value.filter[name] ?? ""}
                onInput={(event) => route.filter(name, event.currentTarget.value)}
            />
        </label>
    );
}

interface ChoiceFilterProps {
    name: string;
    label: string;
    choices: ReadonlyArray<{ value: string; label: string }>;
}

export function ChoiceFilter({ name, label, choices }: ChoiceFilterProps) {
    const { route } = usePage();
    return (
        <label>
            {label}
            <select value={route.route.value.filter[name] ?? ""} onChange={(event) => route.filter(name, event.currentTarget.value)}>
                <option value="">All</option>
                {choices.map((choice) => (
                    <option key={choice.value} value={choice.value}>
                        {choice.label}
                    </option>
                ))}
            </select>
        </label>
    );
}
