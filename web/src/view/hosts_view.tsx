// The machines whose agents run game servers: their processes, and the last lines of those that ended.

import { useMemo } from "preact/hooks";
import type { Host, Process } from "../api/shapes";
import { count, foreign, percent } from "../model/format";
import { hostTone, lastWords, PROCESS_TONES, standing, summary } from "../model/host_text";
import { routeToServer } from "../model/route";
import { finder } from "../model/table_rows";
import { DataTable, type Column } from "./data_table";
import { emptyText, ListFrame, TextFilter } from "./list_frame";
import { Moment } from "./moment";
import { useMayOperate, usePage, useRegionName, useStore } from "./page_context";
import { StatusMark } from "./status_mark";
import { useList } from "./use_list";

export function HostsView() {
    const { route } = usePage();
    const { q = "" } = useStore(route.route).filter;
    const regionName = useRegionName();
    const list = useList<Host>("hosts");
    const rows = useMemo(() => {
        const found = finder(q);
        return list.rows.filter((host) => found(host.name, host.address, regionName(host.region), ...host.processes.map((process) => process.name)));
    }, [list.rows, q]);
    return (
        <ListFrame
            list={list}
            noun={["host", "hosts"]}
            matching={rows.length}
            subject={q}
            filters={<TextFilter name="q" label="Find" hint="host, process, region" />}
        >
            {rows.length === 0 && <p class="note">{emptyText(list, "No agent has told of its host. `muster agent` runs game servers.", "No host matches.")}</p>}
            {rows.map((host) => (
                <OneHost key={host.name} host={host} changed={list.reload} />
            ))}
        </ListFrame>
    );
}

function OneHost({ host, changed }: { host: Host; changed: () => void }) {
    const { actions } = usePage();
    const may = useMayOperate();
    const regionName = useRegionName();
    const title = `host-${host.name}`;
    const drain = async () => {
        if (await actions.drainHost(host.name, !host.draining)) changed();
    };
    const forget = async () => {
        if (await actions.forgetHost(host.name)) changed();
    };
    return (
        <section class="panel host" aria-labelledby={title}>
            <h2 id={title}>
                <StatusMark tone={hostTone(host)} /> {foreign(host.name)}
            </h2>
            <p class="detail">
                {host.connected ? standing(host) : <strong>{standing(host)}</strong>}
                {host.lost_at_ms !== null && (
                    <>
                        {" "}
                        since <Moment at={host.lost_at_ms} />
                    </>
                )}
                {` · ${foreign(host.address)} · ${regionName(host.region)} · CPU ${percent(host.cpu)} · memory ${percent(host.memory)} · ${summary(host)} · agent ${foreign(host.version)}`}
            </p>
            {may && !host.connected && (
                <p class="buttons">
                    <button type="button" onClick={() => void forget()} aria-label={`Forget host ${foreign(host.name)}`}>
                        Forget
                    </button>
                </p>
            )}
            {may && host.connected && (
                <p class="buttons">
                    <button type="button" class="drain" onClick={() => void drain()} aria-label={`${host.draining ? "Undrain" : "Drain"} host ${foreign(host.name)}`}>
                        {host.draining ? "Undrain" : "Drain"}
                    </button>
                </p>
            )}
            <DataTable
                caption={`processes of ${foreign(host.name)}`}
                columns={columns(host, may, (process) => void actions.restart(host.name, process).then((done) => done && changed()))}
                rows={host.processes}
                rowKey={(process) => process.name}
                first={{ column: "name", descending: false }}
                subject={host.name}
                empty="It runs no process."
            />
            {lastWords(host).map((process) => (
                <figure key={process.name} class="last-words">
                    <figcaption>
                        {foreign(process.name)} ended: {foreign(process.last_exit?.reason ?? "")}
                    </figcaption>
                    <pre tabIndex={0} aria-label={`Last lines of ${foreign(process.name)}`}>
                        {foreignLines(process.last_exit?.last_lines ?? "")}
                    </pre>
                </figure>
            ))}
        </section>
    );
}

// Each line as text that others chose.
function foreignLines(text: string): string {
    return text
        .split("\n")
        .map((line) => foreign(line, 400))
        .join("\n");
}

function columns(host: Host, may: boolean, restart: (process: string) => void): Column<Process>[] {
    const all: Column<Process>[] = [
        {
            name: "name",
            label: "Process",
            value: (process) => process.name,
            show: (process) => <span class="player-name">{foreign(process.name)}</span>,
        },
        {
            name: "state",
            label: "State",
            value: (process) => process.state,
            show: (process) => (
                <span class="status">
                    <StatusMark tone={host.connected ? PROCESS_TONES[process.state] : "unknown"} /> {process.state.replace("_", " ")}
                </span>
            ),
        },
        {
            name: "server",
            label: "Server",
            value: (process) => process.server_id ?? 0,
            show: (process) => (process.server_id === null ? "–" : <a href={routeToServer(process.server_id)}>{process.server_id}</a>),
            numeric: true,
        },
        { name: "port", label: "Port", value: (process) => process.port ?? 0, show: (process) => process.port ?? "–", numeric: true },
        { name: "pid", label: "Pid", value: (process) => process.pid ?? 0, show: (process) => process.pid ?? "–", numeric: true, wide: true },
        { name: "restarts", label: "Restarts", value: (process) => process.restarts, show: (process) => count(process.restarts), numeric: true },
        {
            name: "exit",
            label: "Last exit",
            value: (process) => process.last_exit?.at_ms ?? 0,
            show: (process) =>
                process.last_exit === null ? (
                    "–"
                ) : (
                    <>
                        {foreign(process.last_exit.reason, 120)}, <Moment at={process.last_exit.at_ms} />
                    </>
                ),
        },
    ];
    if (may && host.connected)
        all.push({
            name: "restart",
            label: "Restart",
            show: (process) => (
                <button type="button" onClick={() => restart(process.name)} aria-label={`Restart ${foreign(process.name)}`}>
                    Restart
                </button>
            ),
        });
    return all;
}
