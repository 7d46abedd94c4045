// The newest events, for a feed that may get thousands a second: kept up to a limit, shown a few times a second.

import type { FleetEvent } from "../api/shapes";
import { isNotable, NOTABLE_TYPES } from "./event_text";
import { Store } from "./store";

export const EVENTS_MAX = 500;
// They fold: what is kept is more than what is shown.
export const NOTABLE_MAX = 5_000;
export const PUBLISH_EVERY_MS = 250;

export class EventFeed {
    // Newest first.
    readonly shown = new Store<readonly FleetEvent[]>([]);

    private events: FleetEvent[] = [];
    private timer: ReturnType<typeof setTimeout> | null = null;

    constructor(private readonly most: number = EVENTS_MAX) {}

    // In the order they happened. What is already here (a resume may repeat) is left out.
    add(batch: readonly FleetEvent[]): void {
        for (const event of batch) {
            const last = this.events.at(-1);
            if (last === undefined || event.id > last.id) this.events.push(event);
            // Of several cells each has numbers of its own.
            else if (event.cell !== undefined && !this.events.some((known) => known.id === event.id)) this.events.push(event);
            else if (event.cell !== undefined) continue;
            // Later, yet numbered lower: the daemon counts from the start again, with a new store.
            else if (event.time_ms > last.time_ms) this.events = [event];
        }
        this.publish();
    }

    // What happened before, in any order; some of it may be here already.
    addPast(batch: readonly FleetEvent[]): void {
        const known = new Set(this.events.map((event) => event.id));
        const missing = batch.filter((event) => !known.has(event.id));
        this.events = [...missing, ...this.events].sort(inOrder);
        this.publish();
    }

    private publish(): void {
        if (this.events.length > this.most) this.events.splice(0, this.events.length - this.most);
        this.timer ??= setTimeout(() => {
            this.timer = null;
            this.shown.set(this.events.slice().reverse());
        }, PUBLISH_EVERY_MS);
    }
}

// By time where there are several cells, as the daemon has it; by number where there is one.
function inOrder(left: FleetEvent, right: FleetEvent): number {
    if (left.cell !== undefined && left.time_ms !== right.time_ms) return left.time_ms - right.time_ms;
    return left.id - right.id;
}

export const NOTABLE = "notable";
export const EVENT_KINDS = [NOTABLE, "server", "match", "player", "entity", "clock", "brake", "operator"] as const;

// "match.ready" is of the kind "match"; what is notable is of several. Every event is of the kind "".
export function isOfKind(event: FleetEvent, kind: string): boolean {
    if (kind === NOTABLE) return isNotable(event);
    return kind === "" || event.type.split(".", 1)[0] === kind;
}

// The types of a kind, as the API takes them.
export function typesOf(kind: string): string {
    if (kind === NOTABLE) return NOTABLE_TYPES.join();
    return kind === "" ? "" : `${kind}.`;
}
