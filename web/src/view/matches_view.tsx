import { useMemo } from "preact/hooks";
import type { Match, MatchState } from "../api/shapes";
import { ago, foreign, NONE } from "../model/format";
import { routeToMatch, routeToServer } from "../model/route";
import { finder } from "../model/table_rows";
import { DataTable, type Column } from "./data_table";
import { ChoiceFilter, emptyText, ListFrame, TextFilter } from "./list_frame";
import { useMayOperate, usePage, useRegionName, useRegions, useStore } from "./page_context";
import { StatusMark, type Tone } from "./status_mark";
import { useList } from "./use_list";

const STATES: readonly MatchState[] = ["offering", "allocated", "ready", "started", "ended", "aborted"];
const STATE_TONES: Record<MatchState, Tone> = {
    offering: "unknown",
    allocated: "unknown",
    ready: "unknown",
    started: "ok",
    ended: "over",
    aborted: "bad",
};
export const OVER: readonly MatchState[] = ["ended", "aborted"];

export function MatchesView() {
    const { route, watch } = usePage();
    const { filter } = useStore(route.route);
    const regions = useRegions();
    const regionName = useRegionName();
    const may = useMayOperate();
    const list = useList<Match>("matches");
    const now = useStore(watch.reading)?.overview.time_ms ?? Date.now();

    const { q = "", state = "", server = "", region = "" } = filter;
    const rows = useMemo(
        () => {
            const found = finder(q);
            return list.rows.filter(
                (match) =>
                    (state === "" || match.state === state) &&
                    (server === "" || String(match.server_id) === server) &&
                    (region === "" || String(match.region) === region) &&
                    found(match.lobby_id, match.matchmaker, match.reason, match.state),
            );
        },
        [list.rows, q, state, server, region],
    );
    return (
        <ListFrame
            list={list}
            noun={["match", "matches"]}
            matching={rows.length}
            subject={`${q} ${state} ${server} ${region}`}
            filters={
                <>
                    <TextFilter name="q" label="Find" hint="lobby, matchmaker, reason" />
                    <ChoiceFilter name="state" label="State" choices={STATES.map((each) => ({ value: each, label: each }))} />
                    <ChoiceFilter
                        name="region"
                        label="Region"
                        choices={regions.map(({ id, name }) => ({ value: String(id), label: name }))}
                    />
                    <TextFilter name="server" label="Server" hint="id" short />
                </>
            }
        >
            <DataTable
                caption="matches"
                columns={may ? [...columns(regionName, now), abortColumn(list.reload)] : columns(regionName, now)}
                rows={rows}
                rowKey={(match) => match.lobby_id}
                first={{ column: "requested", descending: true }}
                subject={`${q} ${state} ${server} ${region}`}
                empty={emptyText(list, "There is no match.", "No match fits.")}
            />
        </ListFrame>
    );
}

function columns(regionName: (id: number) => string, now: number): Column<Match>[] {
    return [
        { name: "lobby", label: "Lobby", value: (match) => match.lobby_id, show: (match) => <a href={routeToMatch(match.lobby_id)}>{match.lobby_id}</a> },
        { name: "state", label: "State", value: (match) => STATES.indexOf(match.state), show: (match) => <State match={match} /> },
        {
            name: "server",
            label: "Server",
            value: (match) => match.server_id,
            show: (match) => (match.server_id === null ? NONE : <a href={routeToServer(match.server_id)}>{match.server_id}</a>),
        },
        {
            name: "region",
            label: "Region",
            value: (match) => regionName(match.region),
            show: (match) => regionName(match.region),
            wide: true,
        },
        {
            name: "chat",
            label: "Matchmaker",
            value: (match) => match.matchmaker,
            show: (match) => foreign(match.matchmaker),
            wide: true,
        },
        {
            name: "players",
            label: "Tokens used",
            value: (match) => match.tokens_used,
            show: (match) => `${match.tokens_used} of ${match.player_count}`,
            numeric: true,
            wide: true,
        },
        {
            name: "requested",
            label: "Requested",
            value: (match) => match.requested_at_ms,
            show: (match) => (match.requested_at_ms === null ? NONE : ago(now - match.requested_at_ms)),
            numeric: true,
            wide: true,
        },
    ];
}

function abortColumn(changed: () => void): Column<Match> {
    return { name: "abort", label: "Action", show: (match) => !OVER.includes(match.state) && <AbortButton match={match} changed={changed} /> };
}

export function State({ match }: { match: Match }) {
    return (
        <>
            <span class="status">
                <StatusMark tone={STATE_TONES[match.state]} /> {match.state}
            </span>
            {match.reason !== "" && <span class="reason"> {foreign(match.reason)}</span>}
        </>
    );
}

export function AbortButton({ match, changed }: { match: Match; changed: () => void }) {
    const { actions, confirmation } = usePage();
    const may = useMayOperate();
    const press = async () => {
        const reason = await confirmation.ask({
            title: `Abort the match of lobby ${match.lobby_id}?`,
            text: `Its ${match.player_count} players lose it, and its game server is told to end it. This cannot be undone.`,
            action: "Abort the match",
            reason: "Aborted by operator",
            hurts: true,
        });
        if (reason !== null && (await actions.abort(match.lobby_id, reason))) changed();
    };
    if (!may) return null;
    return (
        <button type="button" class="hurts" onClick={() => void press()} aria-label={`Abort the match of lobby ${match.lobby_id}`}>
            Abort
        </button>
    );
}
