// Events that say the same of many, folded into one: "833 servers offline (EU)".

import type { FleetEvent } from "../api/shapes";

// So many of one kind are one line.
export const FOLD_LEAST = 3;
// Those of a fold follow each other no further apart than this; what comes later is another happening.
export const FOLD_GAP_MS = 10_000;

export type EventEntry =
    | { kind: "one"; event: FleetEvent }
    // Newest first, as they were given; at least FOLD_LEAST.
    | { kind: "many"; events: readonly FleetEvent[] };

// Newest first. A fold stands where its newest event stood; others may have happened in between.
export function folded(events: readonly FleetEvent[]): EventEntry[] {
    const open = new Map<string, FleetEvent[]>();
    const groupOf = new Map<FleetEvent, FleetEvent[]>();
    for (const event of events) {
        const key = sameness(event);
        if (key === null) continue;
        const group = open.get(key);
        const oldest = group?.at(-1);
        if (group !== undefined && oldest !== undefined && oldest.time_ms - event.time_ms <= FOLD_GAP_MS) {
            group.push(event);
            groupOf.set(event, group);
        } else {
            const begun = [event];
            open.set(key, begun);
            groupOf.set(event, begun);
        }
    }
    const entries: EventEntry[] = [];
    for (const event of events) {
        const group = groupOf.get(event);
        if (group === undefined || group.length < FOLD_LEAST) entries.push({ kind: "one", event });
        else if (group[0] === event) entries.push({ kind: "many", events: group });
    }
    return entries;
}

// What two events of a fold have in common; null for what is always told by itself.
function sameness(event: FleetEvent): string | null {
    if (/^(operator|clock|brake|gap)/.test(event.type)) return null;
    const { region, reason, draining, by } = event;
    return JSON.stringify([event.type, region, reason, draining, by]);
}

// The fields that all of them share, as an event that can be shown.
export function shared(events: readonly FleetEvent[]): FleetEvent {
    const [first, ...rest] = events;
    if (first === undefined) throw new Error("A fold has events");
    const same = Object.entries(first).filter(([field, value]) => rest.every((event) => event[field] === value));
    return { ...Object.fromEntries(same), id: first.id, time_ms: first.time_ms, type: first.type };
}
