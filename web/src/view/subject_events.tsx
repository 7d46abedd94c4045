// The events of one server, lobby or player, from the history; newest first, and further back at a press.

import { useEffect, useState } from "preact/hooks";
import { NotSignedIn } from "../api/api";
import type { EventPage, FleetEvent } from "../api/shapes";
import { typesOf } from "../model/event_feed";
import { foreign } from "../model/format";
import { EventList } from "./event_list";
import { usePage, useStore } from "./page_context";

const REFRESH_MS = 2_000;
const EVENTS_PAGE = 100;

export function SubjectEvents({ filter, kind }: { filter: string; kind: string }) {
    const { api, gate } = usePage();
    const signedIn = useStore(gate.held);
    // Oldest first; `previous` is where to go on towards older ones, null at the end.
    const [loaded, setLoaded] = useState<{ events: readonly FleetEvent[]; previous: number | null } | null>(null);
    const [error, setError] = useState<string | null>(null);
    const [busy, setBusy] = useState(false);
    const types = typesOf(kind);
    const query = `events?limit=${EVENTS_PAGE}${filter}${types === "" ? "" : `&type=${encodeURIComponent(types)}`}`;
    const told = (failure: unknown) => setError(failure instanceof Error ? failure.message : String(failure));

    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        setLoaded(null);
        const load = async () => {
            try {
                const { events, previous } = await api.get<EventPage>(query, stop.signal);
                // What was loaded from further back stays.
                setLoaded((before) => {
                    const first = events[0]?.id ?? Infinity;
                    const older = before?.events.filter((event) => event.id < first) ?? [];
                    return { events: [...older, ...events], previous: before === null || older.length === 0 ? previous : before.previous };
                });
                setError(null);
            } catch (failure) {
                if (stop.signal.aborted || failure instanceof NotSignedIn) return;
                told(failure);
            }
            if (!stop.signal.aborted) timer = setTimeout(() => void load(), REFRESH_MS);
        };
        void load();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [api, query, signedIn]);

    const loadOlder = async () => {
        if (loaded === null || loaded.previous === null || busy) return;
        setBusy(true);
        try {
            const page = await api.get<EventPage>(`${query}&before=${loaded.previous}`);
            setLoaded((before) => ({ events: [...page.events, ...(before?.events ?? [])], previous: page.previous }));
        } catch (failure) {
            told(failure);
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
                {error !== null && <span class="wrong">{foreign(error)}</span>}
            </p>
        </>
    );
}
