import type { Operator } from "../api/shapes";
import { foreign } from "../model/format";
import { DataTable, type Column } from "./data_table";
import { emptyText } from "./list_frame";
import { Moment } from "./moment";
import { useList } from "./use_list";

// Who has a name. They are added and removed by the command, which shows a new token once.
export function OperatorsPanel() {
    const list = useList<Operator>("operators");
    return (
        <section class="panel list" aria-labelledby="operators">
            <h2 id="operators">Operators</h2>
            <p class="note">
                <code>muster operator add NAME --role ROLE</code> adds one and prints the token, once.
            </p>
            {list.error !== null && <p class="note wrong">The list could not be loaded: {foreign(list.error)}.</p>}
            <DataTable
                caption="operators"
                columns={COLUMNS}
                rows={list.rows}
                rowKey={(operator) => operator.name}
                first={{ column: "name", descending: false }}
                subject=""
                empty={emptyText(list, "Nobody has a name yet; whoever holds the admin token is admin.", "")}
            />
        </section>
    );
}

const COLUMNS: Column<Operator>[] = [
    { name: "name", label: "Name", value: (operator) => operator.name, show: (operator) => foreign(operator.name) },
    { name: "role", label: "Role", value: (operator) => operator.role, show: (operator) => operator.role },
    { name: "since", label: "Since", value: (operator) => operator.added_at_ms, show: (operator) => <Moment at={operator.added_at_ms} /> },
    { name: "by", label: "Added by", value: (operator) => operator.added_by, show: (operator) => foreign(operator.added_by), wide: true },
];
