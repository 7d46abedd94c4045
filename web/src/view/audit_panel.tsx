// Who did what, when, and from where.

import { useEffect, useState } from "preact/hooks";
import type { EventPage, FleetEvent } from "../api/shapes";
import { auditRow, type AuditRow } from "../model/audit";
import { foreign, NONE } from "../model/format";
import { DataTable, type Column } from "./data_table";
import { Moment } from "./moment";
import { usePage, useStore } from "./page_context";

const SHOWN = 500;

export function AuditPanel() {
    const { api, gate, feed } = usePage();
    const signedIn = useStore(gate.held);
    const live = useStore(feed.shown);
    const [past, setPast] = useState<readonly FleetEvent[]>([]);
    const [error, setError] = useState<string | null>(null);
    useEffect(() => {
        const stop = new AbortController();
        api.get<EventPage>(`events?limit=${SHOWN}&type=operator.action`, stop.signal)
            .then((page) => {
                setPast(page.events);
                setError(null);
            })
            .catch((failure: unknown) => {
                if (!stop.signal.aborted) setError(failure instanceof Error ? failure.message : String(failure));
            });
        return () => stop.abort();
    }, [api, signedIn]);

    const known = new Set(past.map((event) => event.id));
    const fresh = live.filter((event) => event.type === "operator.action" && !known.has(event.id));
    const rows = [...past, ...fresh].map(auditRow);
    return (
        <section class="panel list" aria-labelledby="audit">
            <h2 id="audit">Audit</h2>
            {error !== null && <p class="note wrong">The history could not be loaded: {foreign(error)}.</p>}
            <DataTable
                caption="what operators did"
                columns={COLUMNS}
                rows={rows}
                rowKey={(row) => row.id}
                first={{ column: "when", descending: true }}
                subject=""
                empty="No operator has done anything yet."
            />
        </section>
    );
}

const COLUMNS: Column<AuditRow>[] = [
    { name: "when", label: "When", value: (row) => row.id, show: (row) => <Moment at={row.at} /> },
    { name: "who", label: "Who", value: (row) => row.who, show: (row) => (row.who === "" ? NONE : foreign(row.who)) },
    { name: "from", label: "From", value: (row) => row.from, show: (row) => foreign(row.from), wide: true },
    { name: "what", label: "What", value: (row) => row.what, show: (row) => foreign(row.what, 200) },
    { name: "reason", label: "Reason", value: (row) => row.reason, show: (row) => foreign(row.reason), wide: true },
];
