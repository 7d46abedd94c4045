// Who is let in no more.

import { useState } from "preact/hooks";
import type { Block } from "../api/shapes";
import { foreign } from "../model/format";
import { DataTable, type Column } from "./data_table";
import { emptyText } from "./list_frame";
import { Moment } from "./moment";
import { useMayOperate, usePage } from "./page_context";
import { useList } from "./use_list";

const KINDS: ReadonlyArray<{ kind: Block["kind"]; label: string; hint: string }> = [
    { kind: "ip", label: "Address or range", hint: "203.0.113.7 or 203.0.113.0/24" },
    { kind: "account", label: "Player's id", hint: "42" },
    { kind: "name", label: "Player's name", hint: "Bob" },
];
const LENGTHS: ReadonlyArray<{ seconds: number; label: string }> = [
    { seconds: 3600, label: "an hour" },
    { seconds: 24 * 3600, label: "a day" },
    { seconds: 7 * 24 * 3600, label: "a week" },
    { seconds: 0, label: "until unblocked" },
];

export function BlocksPanel() {
    const list = useList<Block>("blocks");
    const may = useMayOperate();
    const columns = may ? [...COLUMNS, unblockColumn(list.reload)] : COLUMNS;
    return (
        <section class="panel list" aria-labelledby="blocks">
            <h2 id="blocks">Blocked</h2>
            {may && <BlockForm done={list.reload} />}
            {list.error !== null && <p class="note wrong">The list could not be loaded: {foreign(list.error)}.</p>}
            <DataTable
                caption="blocks"
                columns={columns}
                rows={list.rows}
                rowKey={(block) => `${block.kind} ${block.value}`}
                first={{ column: "since", descending: true }}
                subject=""
                empty={emptyText(list, "Nobody is blocked.", "")}
            />
        </section>
    );
}

function BlockForm({ done }: { done: () => void }) {
    const { actions } = usePage();
    const [draft, setDraft] = useState({ kind: "ip" as Block["kind"], value: "", seconds: 3600, reason: "" });
    const hint = KINDS.find((each) => each.kind === draft.kind)?.hint;
    const block = async (event: Event) => {
        event.preventDefault();
        if (!(await actions.block(draft.kind, draft.value.trim(), draft.seconds, draft.reason))) return;
        setDraft({ ...draft, value: "", reason: "" });
        done();
    };
    return (
        <form class="filters" aria-label="Block somebody" onSubmit={(event) => void block(event)}>
            <label>
                Block
                <select value={draft.kind} onChange={(event) => setDraft({ ...draft, kind: event.currentTarget.value as Block["kind"] })}>
                    {KINDS.map((each) => (
                        <option key={each.kind} value={each.kind}>
                            {each.label}
                        </option>
                    ))}
                </select>
            </label>
            <label>
                Which
                <input required value={draft.value} placeholder={hint} onInput={(event) => setDraft({ ...draft, value: event.currentTarget.value })} />
            </label>
            <label>
                For
                <select value={draft.seconds} onChange={(event) => setDraft({ ...draft, seconds: Number(event.currentTarget.value) })}>
                    {LENGTHS.map((each) => (
                        <option key={each.seconds} value={each.seconds}>
                            {each.label}
                        </option>
                    ))}
                </select>
            </label>
            <label>
                Reason
                <input value={draft.reason} maxLength={256} onInput={(event) => setDraft({ ...draft, reason: event.currentTarget.value })} />
            </label>
            <button type="submit" class="hurts">
                Block
            </button>
        </form>
    );
}

const COLUMNS: Column<Block>[] = [
    { name: "kind", label: "What", value: (block) => block.kind, show: (block) => block.kind },
    { name: "value", label: "Which", value: (block) => block.value, show: (block) => foreign(block.value, 200) },
    { name: "since", label: "Since", value: (block) => block.blocked_at_ms, show: (block) => <Moment at={block.blocked_at_ms} /> },
    {
        name: "until",
        label: "Until",
        value: (block) => block.until_ms ?? Infinity,
        show: (block) => (block.until_ms === null ? "unblocked" : <Moment at={block.until_ms} />),
    },
    { name: "by", label: "By", value: (block) => block.blocked_by, show: (block) => foreign(block.blocked_by), wide: true },
    { name: "reason", label: "Reason", value: (block) => block.reason, show: (block) => foreign(block.reason), wide: true },
];

function unblockColumn(changed: () => void): Column<Block> {
    return { name: "unblock", label: "Action", show: (block) => <UnblockButton block={block} changed={changed} /> };
}

function UnblockButton({ block, changed }: { block: Block; changed: () => void }) {
    const { actions } = usePage();
    const press = async () => {
        if (await actions.unblock(block.kind, block.value)) changed();
    };
    return (
        <button type="button" onClick={() => void press()} aria-label={`Unblock ${block.kind} ${foreign(block.value)}`}>
            Unblock
        </button>
    );
}
