import { useMemo } from "preact/hooks";
import type { Player } from "../api/shapes";
import { ago, duration, foreign, measured, measuredJitter, NONE, roundTrip } from "../model/format";
import { routeToEvents, routeToMatch } from "../model/route";
import { finder } from "../model/table_rows";
import { DataTable, type Column } from "./data_table";
import { ChoiceFilter, emptyText, ListFrame, TextFilter } from "./list_frame";
import { useMayOperate, usePage, useStore } from "./page_context";
import { StatusMark, type Tone } from "./status_mark";
import { useList } from "./use_list";

const STATES = ["active", "idle", "away"] as const;
const STATE_TONES: Record<(typeof STATES)[number], Tone> = { active: "ok", idle: "unknown", away: "warn" };

// "away": the link is lost and the session waits for it.
function stateOf(player: Player): (typeof STATES)[number] {
    if (!player.connected) return "away";
    return player.idle ? "idle" : "active";
}

export function PlayersView() {
    const { route, watch } = usePage();
    const { filter } = useStore(route.route);
    const may = useMayOperate();
    const list = useList<Player>("players");
    const now = useStore(watch.reading)?.overview.time_ms ?? Date.now();

    const { q = "", state = "" } = filter;
    const rows = useMemo(
        () => {
            const found = finder(q);
            return list.rows.filter((player) => (state === "" || stateOf(player) === state) && found(player.id, player.name));
        },
        [list.rows, q, state],
    );
    return (
        <ListFrame
            list={list}
            noun={["player", "players"]}
            matching={rows.length}
            subject={`${q} ${state}`}
            filters={
                <>
                    <TextFilter name="q" label="Find" hint="name or id" />
                    <ChoiceFilter name="state" label="State" choices={STATES.map((each) => ({ value: each, label: each }))} />
                </>
            }
        >
            <DataTable
                caption="players"
                columns={may ? [...columns(now), kickColumn(list.reload)] : columns(now)}
                rows={rows}
                rowKey={(player) => player.id}
                first={{ column: "id", descending: false }}
                subject={`${q} ${state}`}
                empty={emptyText(list, "No player is here.", "No player matches.")}
            />
        </ListFrame>
    );
}

function columns(now: number): Column<Player>[] {
    return [
        {
            name: "name",
            label: "Player",
            value: (player) => player.name.toLowerCase(),
            show: (player) => (
                <a class="player-name" href={routeToEvents({ player: player.id })}>
                    {foreign(player.name)}
                </a>
            ),
        },
        { name: "id", label: "Id", value: (player) => player.id, show: (player) => player.id, wide: true },
        {
            name: "state",
            label: "State",
            value: (player) => STATES.indexOf(stateOf(player)),
            show: (player) => (
                <span class="status">
                    <StatusMark tone={STATE_TONES[stateOf(player)]} /> {stateOf(player)}
                </span>
            ),
        },
        {
            name: "match",
            label: "Match",
            value: (player) => player.lobby_id,
            show: (player) => (player.lobby_id === null ? NONE : <a href={routeToMatch(player.lobby_id)}>{player.lobby_id}</a>),
            numeric: true,
        },
        {
            name: "latency",
            label: "Latency",
            value: (player) => measured(player.latency_ms),
            show: (player) => roundTrip(measured(player.latency_ms)),
            numeric: true,
        },
        {
            name: "jitter",
            label: "Jitter",
            value: (player) => measuredJitter(player.jitter_ms, player.latency_ms),
            show: (player) => roundTrip(measuredJitter(player.jitter_ms, player.latency_ms)),
            numeric: true,
            wide: true,
        },
        {
            name: "connected",
            label: "Connected for",
            value: (player) => -player.connected_at_ms,
            show: (player) => duration(now - player.connected_at_ms),
            numeric: true,
            wide: true,
        },
        {
            name: "message",
            label: "Last message",
            value: (player) => player.last_message_ms_ago,
            show: (player) => ago(player.last_message_ms_ago),
            numeric: true,
            widest: true,
        },
        {
            name: "ping",
            label: "Last ping answered",
            value: (player) => player.last_ping_received_ms_ago,
            show: (player) => ago(player.last_ping_received_ms_ago),
            numeric: true,
            widest: true,
        },
        {
            name: "heartbeats",
            label: "Entity",
            value: (player) => player.entity,
            show: (player) => <Entity player={player} />,
            numeric: true,
            widest: true,
        },
    ];
}

function kickColumn(changed: () => void): Column<Player> {
    return { name: "kick", label: "Action", show: (player) => <KickButton player={player} changed={changed} /> };
}

function Entity({ player }: { player: Player }) {
    if (player.entity === null) return <>{NONE}</>;
    return (
        <>
            {player.entity}
            {player.failed_heartbeats > 0 && <span class="reason"> {player.failed_heartbeats} missed</span>}
        </>
    );
}

function KickButton({ player, changed }: { player: Player; changed: () => void }) {
    const { actions, confirmation } = usePage();
    const name = foreign(player.name);
    const press = async () => {
        const reason = await confirmation.ask({
            title: `Kick ${name}?`,
            text: "The player's session ends at once and cannot be resumed; they can log in again.",
            action: "Kick the player",
            reason: "Kicked",
            hurts: true,
        });
        if (reason !== null && (await actions.kick(player, reason))) changed();
    };
    return (
        <button type="button" class="hurts" onClick={() => void press()} aria-label={`Kick ${name}`}>
            Kick
        </button>
    );
}
