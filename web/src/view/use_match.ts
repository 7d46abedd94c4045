// One match and what happened to it, loaded again every second until it is over.

import { useEffect, useState } from "preact/hooks";
import { NotSignedIn, Refused } from "../api/api";
import type { EventPage, FleetEvent, MatchWithPlayers } from "../api/shapes";
import { usePage, useStore } from "./page_context";

const REFRESH_MS = 1_000;
const EVENTS_PAGE = 200;
// A page of history looks at 20,000 events: an old match is looked for so far back.
const PAGES_MAX = 20;
const NOT_FOUND = 404;

export interface LoadedMatch {
    // Null before the first answer, and when the daemon does not know it (any more).
    match: MatchWithPlayers | null;
    events: readonly FleetEvent[];
    loading: boolean;
    error: string | null;
    // Loads it now, after an action.
    reload: () => void;
}

export function useMatch(lobby: number): LoadedMatch {
    const { api, gate } = usePage();
    const signedIn = useStore(gate.held);
    const [match, setMatch] = useState<MatchWithPlayers | null>(null);
    const [events, setEvents] = useState<readonly FleetEvent[]>([]);
    const [loading, setLoading] = useState(true);
    const [error, setError] = useState<string | null>(null);
    const [round, setRound] = useState(0);

    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;

        const loadMatch = async (): Promise<MatchWithPlayers | null> => {
            try {
                return await api.get<MatchWithPlayers>(`matches/${lobby}`, stop.signal);
            } catch (failure) {
                if (failure instanceof Refused && failure.status === NOT_FOUND) return null;
                throw failure;
            }
        };
        const loadEvents = async (since: number | null): Promise<FleetEvent[]> => {
            const found: FleetEvent[] = [];
            let filter = `lobby=${lobby}&limit=${EVENTS_PAGE}${since === null ? "" : `&since_ms=${since}`}`;
            for (let page = 0; page < PAGES_MAX; ++page) {
                const { events: older, previous } = await api.get<EventPage>(`events?${filter}`, stop.signal);
                found.unshift(...older);
                if (previous === null) break;
                filter = `${filter.replace(/&before=\d+/, "")}&before=${previous}`;
            }
            return found;
        };
        const load = async () => {
            let over = false;
            try {
                const answer = await loadMatch();
                setEvents(await loadEvents(answer?.requested_at_ms ?? null));
                setMatch(answer);
                setError(null);
                setLoading(false);
                over = answer === null || answer.state === "ended" || answer.state === "aborted";
            } catch (failure) {
                if (stop.signal.aborted || failure instanceof NotSignedIn) return;
                setError(failure instanceof Error ? failure.message : String(failure));
            }
            if (!stop.signal.aborted && !over) timer = setTimeout(() => void load(), REFRESH_MS);
        };
        void load();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [api, lobby, round, signedIn]);

    return { match, events, loading, error, reload: () => setRound((before) => before + 1) };
}
