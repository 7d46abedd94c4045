// An event in words: what it is about, then whatever else it carries.

import type { FleetEvent } from "../api/shapes";
import { count, duration, figure, foreign, gameTime, milliseconds } from "./format";
import { routeToEvents, routeToMatch, routeToServer } from "./route";

export interface EventPart {
    label: string;
    text: string;
    // Where to look at what the part names: a server, a match, the events of a player.
    href?: string;
}

const TITLES: Record<string, string> = {
    "server.registered": "Server registered",
    "server.resumed": "Server came back",
    "server.offline": "Server offline",
    "server.removed": "Server removed",
    "server.draining": "Server draining",
    "server.refused": "Server refused",
    "matchmaker.refused": "Matchmaker refused",
    "match.requested": "Match requested",
    "match.offered": "Match offered",
    "match.declined": "Offer declined",
    "match.allocated": "Match allocated",
    "match.ready": "Match ready",
    "match.started": "Match started",
    "match.ended": "Match ended",
    "match.aborted": "Match aborted",
    "match.refused": "Allocation failed",
    "match.wrong_tokens": "Ten wrong tokens in a minute",
    "player.login": "Player logged in",
    "player.resumed": "Player came back",
    "player.idle": "Player idle",
    "player.active": "Player active",
    "player.closed": "Player left",
    "entity.deleted": "Entity deleted",
    "clock.jump": "World clock set",
    "brake.on": "Eviction brake on: removals suspended",
    "brake.off": "Eviction brake off",
    "block.expired": "Block ended",
    "history.damaged": "Events lost",
    "operator.action": "Operator",
    "host.joined": "Host joined",
    "host.left": "Host left",
    "host.forgotten": "Host forgotten",
    "process.started": "Process started",
    "process.ready": "Process ready",
    "process.exited": "Process ended",
    "process.unhealthy": "Process unhealthy",
    "process.crash_loop": "Process in a crash loop",
    gap: "Some events are not shown here; the history has them",
};

export function eventTitle(event: FleetEvent): string {
    if (isUndrain(event)) return "Server takes matches again";
    if (event.type === "operator.action" && typeof event.action === "string") return `Operator: ${foreign(event.action, 60)}`;
    return TITLES[event.type] ?? foreign(event.type, 60);
}

// Of many: "833 servers offline".
const MANY: Record<string, string> = {
    "server.registered": "servers registered",
    "server.resumed": "servers came back",
    "server.offline": "servers offline",
    "server.removed": "servers removed",
    "server.draining": "servers draining",
    "server.refused": "servers refused",
    "matchmaker.refused": "matchmakers refused",
    "match.requested": "matches requested",
    "match.offered": "matches offered",
    "match.declined": "offers declined",
    "match.allocated": "matches allocated",
    "match.ready": "matches ready",
    "match.started": "matches started",
    "match.ended": "matches ended",
    "match.aborted": "matches aborted",
    "match.refused": "allocations failed",
    "player.login": "players logged in",
    "player.resumed": "players came back",
    "player.idle": "players idle",
    "player.active": "players active",
    "player.closed": "players left",
    "entity.deleted": "entities deleted",
    "host.joined": "hosts joined",
    "host.left": "hosts left",
    "host.forgotten": "hosts forgotten",
    "process.started": "processes started",
    "process.ready": "processes ready",
    "process.exited": "processes ended",
    "process.unhealthy": "processes unhealthy",
    "process.crash_loop": "processes in a crash loop",
};

export function manyTitle(event: FleetEvent, number: number): string {
    if (isUndrain(event)) return `${count(number)} servers take matches again`;
    const many = MANY[event.type];
    return many === undefined ? `${count(number)} × ${eventTitle(event)}` : `${count(number)} ${many}`;
}

const BAD = ["server.offline", "brake.on", "match.aborted", "host.left", "process.crash_loop"];
const WARN = ["server.removed", "server.draining", "match.refused", "match.wrong_tokens", "server.refused", "matchmaker.refused", "operator.action", "process.exited", "process.unhealthy"];

// What deserves an eye at three in the morning.
export function eventTone(event: FleetEvent): "bad" | "warn" | "plain" {
    if (BAD.includes(event.type)) return "bad";
    return WARN.includes(event.type) && !isUndrain(event) ? "warn" : "plain";
}

// One type for both, told apart by a flag.
function isUndrain(event: FleetEvent): boolean {
    return event.type === "server.draining" && event.draining === false;
}

// Everything but the everyday course of matches and players, which would wash all else away.
export const NOTABLE_TYPES = ["server.", "matchmaker.", "brake.", "clock.", "operator.", "host.", "process.exited", "process.unhealthy", "process.crash_loop", "match.aborted", "match.refused", "match.wrong_tokens", "gap"];

export function isNotable(event: FleetEvent): boolean {
    return NOTABLE_TYPES.some((type) => event.type.startsWith(type));
}

// Or said by the title.
const SHOWN_ELSEWHERE = new Set(["id", "time_ms", "type", "draining"]);
const FIRST = ["operator", "who", "target", "host", "process", "server_id", "lobby_id", "player_id", "name", "to", "region", "reason"];
const LABELS: Record<string, string> = {
    seconds: "took",
    silence_seconds: "silent for",
    uptime_seconds: "was up for",
    session_seconds: "was here for",
    max_matches: "room for",
};

// `regionName` gives a region's name for its id.
export function eventParts(event: FleetEvent, regionName: (id: number) => string, without = ""): EventPart[] {
    const told = withoutRepetition(event);
    const fields = Object.keys(told).filter((field) => !SHOWN_ELSEWHERE.has(field) && field !== without && !isEmpty(told[field]));
    const rank = (field: string) => (FIRST.includes(field) ? FIRST.indexOf(field) : FIRST.length);
    fields.sort((left, right) => rank(left) - rank(right));
    return fields.map((field) => {
        const value = told[field];
        const text = field === "region" && typeof value === "number" ? regionName(value) : textOf(field, value);
        const part: EventPart = { label: LABELS[field] ?? field.replace(/_id$/, "").replaceAll("_", " "), text };
        if (typeof value === "number") {
            if (field === "server_id") part.href = routeToServer(value);
            if (field === "lobby_id") part.href = routeToMatch(value);
            if (field === "player_id") part.href = routeToEvents({ player: value });
        }
        return part;
    });
}

// The fields that say something of their own.
function withoutRepetition({ ...fields }: FleetEvent): Record<string, unknown> {
    if (fields.type === "operator.action") {
        delete fields.action;
        if (["server_id", "lobby_id", "player_id"].some((field) => field in fields)) delete fields.target;
    }
    const { day, hour, minute } = fields;
    if (fields.type === "clock.jump" && typeof day === "number" && typeof hour === "number" && typeof minute === "number") {
        fields.to = gameTime({ day, hour, minute });
        for (const field of ["day", "hour", "minute"]) delete fields[field];
    }
    if (fields.attempt === 1) delete fields.attempt;
    // Why a server was chosen stands in the match's own view.
    for (const field of ["candidates", "score", "load", "next_best"]) delete fields[field];
    if (fields.seconds === 0) delete fields.seconds;
    return fields;
}

function isEmpty(value: unknown): boolean {
    return value === null || value === undefined || value === "";
}

function textOf(field: string, value: unknown): string {
    if (typeof value === "number" && (field === "seconds" || field.endsWith("_seconds")))
        return value < 60 ? milliseconds(1000 * value) : duration(1000 * value);
    if (typeof value === "number" && !Number.isInteger(value)) return figure(value);
    return foreign(typeof value === "object" ? JSON.stringify(value) : String(value));
}
