import { useMemo, useState } from "preact/hooks";
import type { Server, ServerStatus } from "../api/shapes";
import { ago, count, foreign, measured, percent, roundTrip, share } from "../model/format";
import { routeToServer } from "../model/route";
import { addressKey, finder } from "../model/table_rows";
import { Bar } from "./bar";
import { DataTable, type Column } from "./data_table";
import { DrainButton } from "./drain_button";
import { DrainMany } from "./drain_many";
import { ChoiceFilter, emptyText, ListFrame, TextFilter } from "./list_frame";
import { useMayOperate, usePage, useRegionName, useRegions, useStore } from "./page_context";
import { StatusMark, type Tone } from "./status_mark";
import { useList } from "./use_list";

export const STATUS_TONES: Record<ServerStatus, Tone> = { available: "ok", full: "warn", draining: "unknown", offline: "bad" };
const STATUSES = Object.keys(STATUS_TONES) as ServerStatus[];

export function ServersView() {
    const { route } = usePage();
    const { filter } = useStore(route.route);
    const regions = useRegions();
    const regionName = useRegionName();
    const may = useMayOperate();
    const list = useList<Server>("servers");

    const { q = "", status = "", region = "" } = filter;
    const rows = useMemo(
        () => {
            const found = finder(q);
            return list.rows.filter(
                (server) =>
                    (status === "" || server.status === status) &&
                    (region === "" || String(server.region) === region) &&
                    found(server.id, `${server.ip}:${server.port}`, server.status, regionName(server.region)),
            );
        },
        [list.rows, q, status, region, regions.length],
    );
    // Ids that are ticked; those that left, or that the filter hides, do not count.
    const [ticked, setTicked] = useState<ReadonlySet<number>>(new Set());
    const selected = useMemo(() => rows.filter((server) => ticked.has(server.id)), [rows, ticked]);
    const filtered = q !== "" || status !== "" || region !== "";
    const selection = {
        has: (server: Server) => ticked.has(server.id),
        set: (servers: readonly Server[], tick: boolean) =>
            setTicked((before) => {
                const after = new Set(before);
                for (const { id } of servers) tick ? after.add(id) : after.delete(id);
                return after;
            }),
        label: (server: Server) => `Select server ${server.id}`,
    };
    const changed = () => {
        setTicked(new Set());
        list.reload();
    };
    return (
        <ListFrame
            list={list}
            noun={["server", "servers"]}
            matching={rows.length}
            subject={`${q} ${status} ${region}`}
            filters={
                <>
                    <TextFilter name="q" label="Find" hint="id, address, …" />
                    <ChoiceFilter name="status" label="Status" choices={STATUSES.map((each) => ({ value: each, label: each }))} />
                    <ChoiceFilter
                        name="region"
                        label="Region"
                        choices={regions.map(({ id, name }) => ({ value: String(id), label: name }))}
                    />
                    {selected.length > 0 ? (
                        <DrainMany servers={selected} picked="selected" changed={changed} />
                    ) : (
                        filtered && rows.length > 0 && <DrainMany servers={rows} picked="shown" changed={changed} />
                    )}
                </>
            }
        >
            <DataTable
                caption="servers"
                columns={may ? [...columns(regionName), drainColumn(list.reload)] : columns(regionName)}
                rows={rows}
                rowKey={(server) => server.id}
                first={{ column: "id", descending: false }}
                subject={`${q} ${status} ${region}`}
                empty={emptyText(list, "No game server has registered.", "No server matches.")}
                {...(may ? { selection } : {})}
            />
        </ListFrame>
    );
}

function columns(regionName: (id: number) => string): Column<Server>[] {
    return [
        {
            name: "id",
            label: "Server",
            value: (server) => server.id,
            show: (server) => <a href={routeToServer(server.id)}>{server.id}</a>,
        },
        {
            name: "status",
            label: "Status",
            value: (server) => STATUSES.indexOf(server.status),
            show: (server) => (
                <span class="status">
                    <StatusMark tone={STATUS_TONES[server.status]} /> {server.status}
                    {server.drain !== null && server.drain.reason !== "" && <span class="reason"> {foreign(server.drain.reason, 60)}</span>}
                </span>
            ),
        },
        {
            name: "address",
            label: "Address",
            value: (server) => addressKey(server.ip, server.port),
            show: (server) => <span class="address">{`${server.ip}:${server.port}`}</span>,
            wide: true,
        },
        {
            name: "region",
            label: "Region",
            value: (server) => regionName(server.region),
            show: (server) => regionName(server.region),
            wide: true,
        },
        {
            name: "load",
            label: "Matches",
            value: (server) => share(server.matches, server.max_matches),
            show: (server) => <Load server={server} />,
            numeric: true,
        },
        { name: "cpu", label: "CPU", value: (server) => server.cpu, show: (server) => percent(server.cpu), numeric: true, widest: true },
        {
            name: "memory",
            label: "Memory",
            value: (server) => server.memory,
            show: (server) => percent(server.memory),
            numeric: true,
            widest: true,
        },
        {
            name: "heartbeat",
            label: "Heartbeat",
            value: (server) => server.last_heartbeat_ms_ago,
            show: (server) => ago(server.last_heartbeat_ms_ago),
            numeric: true,
            wide: true,
        },
        {
            name: "rtt",
            label: "Round trip",
            value: (server) => measured(server.rtt_ms),
            show: (server) => roundTrip(measured(server.rtt_ms)),
            numeric: true,
            widest: true,
        },
        {
            name: "choices",
            label: "Chosen",
            value: (server) => server.choices,
            show: (server) => count(server.choices),
            numeric: true,
            widest: true,
        },
    ];
}

function drainColumn(changed: () => void): Column<Server> {
    return { name: "drain", label: "Action", show: (server) => <DrainButton server={server} changed={changed} /> };
}

// A full server is everyday, unlike a full region; its bar says no more than its status does.
function Load({ server }: { server: Server }) {
    return (
        <span class="with-bar">
            {server.matches} of {server.max_matches}{" "}
            <Bar percent={share(server.matches, server.max_matches)} tone={server.status === "full" ? "warn" : "plain"} />
        </span>
    );
}
