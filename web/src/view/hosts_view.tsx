// The machines whose agents run game servers: their processes, and the last lines of those that ended.

import type { Host, Process } from "../api/shapes";
import { count, foreign, percent } from "../model/format";
import { hostTone, lastWords, PROCESS_TONES } from "../model/host_text";
import { routeToServer } from "../model/route";
import { emptyText, ListFrame } from "./list_frame";
import { Moment } from "./moment";
import { useRegionName } from "./page_context";
import { StatusMark } from "./status_mark";
import { useList } from "./use_list";

export function HostsView() {
    const list = useList<Host>("hosts");
    return (
        <ListFrame list={list} noun={["host", "hosts"]} matching={list.rows.length} subject="" filters={null}>
            {list.rows.length === 0 && <p class="note">{emptyText(list, "No agent has told of its host.", "")}</p>}
            {list.rows.map((host) => (
                <OneHost key={host.name} host={host} />
            ))}
        </ListFrame>
    );
}

function OneHost({ host }: { host: Host }) {
    const regionName = useRegionName();
    const title = `host-${host.name}`;
    return (
        <section class="panel" aria-labelledby={title}>
            <h2 id={title}>
                <StatusMark tone={hostTone(host)} /> {foreign(host.name)}
            </h2>
            <p class="detail">
                {host.connected ? (host.draining ? "draining" : "connected") : <strong>lost</strong>}
                {` · ${foreign(host.address)} · ${regionName(host.region)} · CPU ${percent(host.cpu)} · memory ${percent(host.memory)}`}
            </p>
            <table>
                <caption class="unseen">processes</caption>
                <thead>
                    <tr>
                        {["Process", "State", "Server", "Restarts", "Last exit"].map((label) => (
                            <th key={label} scope="col">
                                {label}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>{host.processes.map((process) => rowOf(host, process))}</tbody>
            </table>
            {lastWords(host).map((process) => (
                <figure key={process.name}>
                    <figcaption>Last lines of {foreign(process.name)}</figcaption>
                    <pre>
                        {process.last_exit?.last_lines.split("\n").map((line) => `${foreign(line, 400)}\n`)}
                    </pre>
                </figure>
            ))}
        </section>
    );
}

function rowOf(host: Host, { name, state, server_id, restarts, last_exit }: Process) {
    return (
        <tr key={name}>
            <td>{foreign(name)}</td>
            <td class="status">
                <StatusMark tone={host.connected ? PROCESS_TONES[state] : "unknown"} /> {state.replace("_", " ")}
            </td>
            <td>{server_id !== null && <a href={routeToServer(server_id)}>{server_id}</a>}</td>
            <td>{count(restarts)}</td>
            <td>
                {last_exit !== null && (
                    <>
                        {foreign(last_exit.reason, 120)}, <Moment at={last_exit.at_ms} />
                    </>
                )}
            </td>
        </tr>
    );
}
