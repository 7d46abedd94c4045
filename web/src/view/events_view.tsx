// The live feed, and the history behind it.

import { useEffect, useState } from "preact/hooks";
import type { StreamState } from "../api/event_stream";
import type { EventPage, FleetEvent } from "../api/shapes";
import { EVENT_KINDS, isOfKind, NOTABLE, typesOf } from "../model/event_feed";
import { eventParts, eventTitle } from "../model/event_text";
import { count, foreign } from "../model/format";
import { finder } from "../model/table_rows";
import { EventList } from "./event_list";
import { ChoiceFilter, TextFilter } from "./list_frame";
import { usePage, useRegionName, useStore } from "./page_context";
import { SubjectEvents } from "./subject_events";

const OLDER_EVENTS = 100;
// While they pour in nobody reads further down; held, all of them are there.
const LIVE_EVENTS_SHOWN = 120;
const STREAM_WORDS: Record<StreamState, string> = {
    connecting: "Connecting…",
    live: "Live",
    lost: "Not connected; trying again",
    locked: "Needs the admin token",
};

const SUBJECTS = ["server", "lobby", "player"] as const;

export function EventsView() {
    const { route } = usePage();
    const { filter } = useStore(route.route);
    // "&lobby=7"; what is no number is not asked for.
    const subject = SUBJECTS.map((name) => (/^[0-9]{1,10}$/.test(filter[name] ?? "") ? `&${name}=${filter[name]}` : "")).join("");
    return subject === "" ? <LiveEvents /> : <EventsOfSubject subject={subject} kind={filter.kind ?? ""} />;
}

function Filters() {
    return (
        <>
            <ChoiceFilter name="kind" label="About" choices={EVENT_KINDS.map((each) => ({ value: each, label: each }))} />
            {SUBJECTS.map((name) => (
                <TextFilter key={name} name={name} label={name.charAt(0).toUpperCase() + name.slice(1)} hint="id" short />
            ))}
        </>
    );
}

function EventsOfSubject({ subject, kind }: { subject: string; kind: string }) {
    return (
        <section class="panel list" aria-labelledby="view-title">
            <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
                <Filters />
                <p class="count">From the history</p>
            </form>
            <SubjectEvents key={subject} filter={subject} kind={kind} />
        </section>
    );
}

function LiveEvents() {
    const { feed, notable, route, streamState } = usePage();
    const { kind = "", q = "" } = useStore(route.route).filter;
    // What is notable has a feed of its own, which the everyday course does not wash away.
    const live = useStore(kind === NOTABLE ? notable.shown : feed.shown);
    const state = useStore(streamState);
    const regionName = useRegionName();
    const [announced, setAnnounced] = useState(false);
    // While the operator reads, the list stands still; newest first, as in the feed.
    const [held, setHeld] = useState<readonly FleetEvent[] | null>(null);
    const older = useOlder(held ?? live, kind, setHeld);
    // What was held or loaded for one kind has holes for another.
    useEffect(() => setHeld(null), [kind]);

    const found = finder(q);
    const words = (event: FleetEvent) => eventParts(event, regionName).map((part) => `${part.label} ${part.text}`);
    const shown = (held ?? live).filter(
        (event) => isOfKind(event, kind) && found(event.type, eventTitle(event), ...words(event)),
    );
    const unseen = held === null ? 0 : live.filter((event) => event.id > (held[0]?.id ?? 0)).length;
    return (
        <section class="panel list" aria-labelledby="view-title">
            <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
                <TextFilter name="q" label="Find" hint="server 12, reason, …" />
                <Filters />
                <button type="button" aria-pressed={held !== null} onClick={() => setHeld(held === null ? live : null)}>
                    {held === null ? "Hold" : `Resume${unseen > 0 ? ` (${count(unseen)} new)` : ""}`}
                </button>
                <label class="tick">
                    <input type="checkbox" checked={announced} onChange={(event) => setAnnounced(event.currentTarget.checked)} /> Read aloud
                </label>
                <p class="count" role="status">
                    {held !== null ? "Held" : STREAM_WORDS[state]}
                </p>
            </form>
            <div role="log" aria-live={announced ? "polite" : "off"} aria-relevant="additions" aria-label="Events, newest first">
                <EventList events={shown} most={held === null ? LIVE_EVENTS_SHOWN : Infinity} empty={live.length === 0 ? "Nothing has happened yet." : "No event matches."} />
            </div>
            <p class="buttons">
                <button type="button" disabled={older.busy || older.end} onClick={older.load}>
                    {older.end ? "No older events" : "Older events"}
                </button>
                {older.error !== null && <span class="wrong">{foreign(older.error)}</span>}
            </p>
        </section>
    );
}

// Adds a page of history to what is shown, and holds it there.
function useOlder(shown: readonly FleetEvent[], kind: string, hold: (events: readonly FleetEvent[]) => void) {
    const { api } = usePage();
    const [busy, setBusy] = useState(false);
    const [end, setEnd] = useState(false);
    const [error, setError] = useState<string | null>(null);
    useEffect(() => setEnd(false), [kind]);
    const load = async () => {
        setBusy(true);
        try {
            const oldest = shown.at(-1);
            // Of several cells an event says by itself what comes before it.
            const before = oldest === undefined ? "" : `&before=${String(oldest.before ?? oldest.id)}`;
            const types = typesOf(kind);
            const type = types === "" ? "" : `&type=${encodeURIComponent(types)}`;
            const page = await api.get<EventPage>(`events?limit=${OLDER_EVENTS}${before}${type}`);
            hold([...shown, ...page.events.toReversed()]);
            setEnd(page.previous === null);
            setError(null);
        } catch (failure) {
            setError(failure instanceof Error ? failure.message : String(failure));
        }
        setBusy(false);
    };
    return { busy, end, error, load: () => void load() };
}
