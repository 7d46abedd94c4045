// One match and what happened to it, loaded again every second until it is over.

import { useState } from "preact/hooks";
import { Refused } from "../api/api";
import type { EventPage, FleetEvent, MatchWithPlayers } from "../api/shapes";
import { usePage } from "./page_context";
import { useRepeated, type Repeated } from "./use_repeated";

const EVENTS_PAGE = 200;
// A page of history looks at 20,000 events: an old match is looked for so far back.
const PAGES_MAX = 20;
const NOT_FOUND = 404;

export interface LoadedMatch extends Repeated {
    // Null before the first answer, and when the daemon does not know it (any more).
    match: MatchWithPlayers | null;
    events: readonly FleetEvent[];
    loading: boolean;
}

export function useMatch(lobby: number): LoadedMatch {
    const { api } = usePage();
    const [match, setMatch] = useState<MatchWithPlayers | null>(null);
    const [events, setEvents] = useState<readonly FleetEvent[]>([]);
    const [loading, setLoading] = useState(true);

    const repeated = useRepeated(async (signal) => {
        const loadMatch = async (): Promise<MatchWithPlayers | null> => {
            try {
                return await api.get<MatchWithPlayers>(`matches/${lobby}`, signal);
            } catch (failure) {
                if (failure instanceof Refused && failure.status === NOT_FOUND) return null;
                throw failure;
            }
        };
        const loadEvents = async (since: number | null): Promise<FleetEvent[]> => {
            const found: FleetEvent[] = [];
            let filter = `lobby=${lobby}&limit=${EVENTS_PAGE}${since === null ? "" : `&since_ms=${since}`}`;
            for (let page = 0; page < PAGES_MAX; ++page) {
                const { events: older, previous } = await api.get<EventPage>(`events?${filter}`, signal);
                found.unshift(...older);
                if (previous === null) break;
                filter = `${filter.replace(/&before=[^&]*/, "")}&before=${previous}`;
            }
            return found;
        };
        const answer = await loadMatch();
        setEvents(await loadEvents(answer?.requested_at_ms ?? null));
        setMatch(answer);
        setLoading(false);
        return answer !== null && answer.state !== "ended" && answer.state !== "aborted";
    }, lobby);

    return { match, events, loading, ...repeated };
}
