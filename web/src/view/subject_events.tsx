// The events of one server, lobby or player, from the history; newest first, and further back at a press.

import { useEffect, useState } from "preact/hooks";
import type { EventPage, FleetEvent } from "../api/shapes";
import { typesOf } from "../model/event_feed";
import { foreign } from "../model/format";
import { EventList } from "./event_list";
import { usePage } from "./page_context";
import { textOf, useRepeated } from "./use_repeated";

const REFRESH_MS = 2_000;
const EVENTS_PAGE = 100;

export function SubjectEvents({ filter, kind }: { filter: string; kind: string }) {
    const { api } = usePage();
    // Oldest first; `previous` is where to go on towards older ones, null at the end.
    const [loaded, setLoaded] = useState<{ events: readonly FleetEvent[]; previous: EventPage["previous"] } | null>(null);
    const [olderError, setOlderError] = useState<string | null>(null);
    const [busy, setBusy] = useState(false);
    const types = typesOf(kind);
    const query = `events?limit=${EVENTS_PAGE}${filter}${types === "" ? "" : `&type=${encodeURIComponent(types)}`}`;

    useEffect(() => setLoaded(null), [query]);
    const { error } = useRepeated(
        async (signal) => {
            const { events, previous } = await api.get<EventPage>(query, signal);
            // What was loaded from further back stays.
            setLoaded((before) => {
                const first = events[0]?.time_ms ?? Infinity;
                const again = new Set(events.map((event) => event.id));
                const older = before?.events.filter((event) => event.time_ms <= first && !again.has(event.id)) ?? [];
                return { events: [...older, ...events], previous: before === null || older.length === 0 ? previous : before.previous };
            });
            setOlderError(null);
            return true;
        },
        query,
        REFRESH_MS,
    );

    const loadOlder = async () => {
        if (loaded === null || loaded.previous === null || busy) return;
        setBusy(true);
        try {
            const page = await api.get<EventPage>(`${query}&before=${loaded.previous}`);
            setLoaded((before) => ({ events: [...page.events, ...(before?.events ?? [])], previous: page.previous }));
        } catch (failure) {
            setOlderError(textOf(failure));
        }
        setBusy(false);
    };
    return (
        <>
            <EventList events={loaded?.events.toReversed() ?? []} empty={loaded === null ? "Loading…" : "No event matches."} />
            <p class="buttons">
                <button type="button" disabled={busy || loaded === null || loaded.previous === null} onClick={() => void loadOlder()}>
                    {loaded !== null && loaded.previous === null ? "No older events" : "Older events"}
                </button>
                {(olderError ?? error) !== null && <span class="wrong">{foreign(olderError ?? error ?? "")}</span>}
            </p>
        </>
    );
}
