// A match's way from its request to its end, step by step.

import type { FleetEvent, MatchWithPlayers } from "../api/shapes";
import { eventParts, eventTitle, eventTone, type EventPart } from "./event_text";
import { figure } from "./format";
import { routeToEvents } from "./route";

export interface TimelineStep {
    key: string;
    time_ms: number;
    title: string;
    tone: "bad" | "warn" | "plain";
    parts: EventPart[];
    // Why this server: those it was chosen from, best first.
    choice: Candidate[] | null;
    candidates: number;
}

export interface Candidate {
    server: number;
    score: number;
    load: number;
}

// Of the match, null when the daemon does not know it any more, and of the events of its lobby in any order; oldest first.
export function timelineOf(match: MatchWithPlayers | null, events: readonly FleetEvent[], regionName: (id: number) => string): TimelineStep[] {
    const steps: TimelineStep[] = events.map((event) => ({
        key: `event ${event.id}`,
        time_ms: event.time_ms,
        title: eventTitle(event),
        tone: event.type === "match.declined" ? "warn" : eventTone(event),
        parts: eventParts(event, regionName, "lobby_id"),
        choice: choiceOf(event),
        candidates: typeof event.candidates === "number" ? event.candidates : 0,
    }));
    if (match !== null && match.requested_at_ms !== null && !events.some((event) => event.type === "match.requested"))
        steps.push({
            ...plain("request", match.requested_at_ms, "Match requested"),
            parts: [
                { label: "matchmaker", text: match.matchmaker },
                { label: "players", text: String(match.player_count) },
                { label: "region", text: regionName(match.region) },
            ],
        });
    for (const { id, joined_at_ms } of match?.players ?? [])
        if (joined_at_ms !== null)
            steps.push({
                ...plain(`player ${id}`, joined_at_ms, "Token used"),
                parts: [{ label: "player", text: String(id), href: routeToEvents({ player: id }) }],
            });
    // Steps of one moment: the request comes first, then events as they were numbered, then who came.
    const rank = (step: TimelineStep) => (step.key === "request" ? 0 : step.key.startsWith("event") ? 1 : 2);
    const number = (step: TimelineStep) => Number(step.key.split(" ")[1] ?? 0);
    steps.sort((left, right) => left.time_ms - right.time_ms || rank(left) - rank(right) || number(left) - number(right));
    return joinedTogether(steps);
}

// Players who came one after the other are one step.
function joinedTogether(steps: readonly TimelineStep[]): TimelineStep[] {
    const together: TimelineStep[] = [];
    for (const step of steps) {
        const last = together.at(-1);
        if (last === undefined || !last.key.startsWith("player") || !step.key.startsWith("player")) {
            together.push({ ...step, parts: [...step.parts] });
            continue;
        }
        last.parts.push(...step.parts);
        last.title = `${last.parts.length} tokens used`;
    }
    return together;
}

function plain(key: string, time_ms: number, title: string): TimelineStep {
    return { key, time_ms, title, tone: "plain", parts: [], choice: null, candidates: 0 };
}

// A daemon of an earlier version does not tell why.
function choiceOf(event: FleetEvent): Candidate[] | null {
    const { server_id, score, load, next_best } = event;
    if (typeof server_id !== "number" || typeof score !== "number" || typeof load !== "number") return null;
    const next = Array.isArray(next_best) ? (next_best as Array<{ id: number; score: number; load: number }>) : [];
    return [{ server: server_id, score, load }, ...next.map((each) => ({ server: each.id, score: each.score, load: each.load }))];
}

// "the best of 833: score 97.3, load 1".
export function choiceText(step: TimelineStep): string {
    const [best] = step.choice ?? [];
    if (best === undefined) return "";
    const among = step.candidates === 1 ? "the only candidate" : `the best of ${step.candidates}`;
    return `${among}: score ${figure(best.score)}, load ${best.load}`;
}

