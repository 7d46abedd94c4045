// One server and what happened to it, loaded again every second while its view is open.

import { useRef, useState } from "preact/hooks";
import { Refused } from "../api/api";
import type { EventPage, FleetEvent, ServerWithHistory } from "../api/shapes";
import { NOTABLE, typesOf } from "../model/event_feed";
import { HeartbeatTrail } from "../model/heartbeat_trail";
import { usePage } from "./page_context";
import { useRepeated, type Repeated } from "./use_repeated";

const EVENTS_MAX = 10;
const NOT_FOUND = 404;

export interface LoadedServer extends Repeated {
    // As it was when it was last seen; null before the first answer, and for one that was gone by then.
    server: ServerWithHistory | null;
    heartbeats: HeartbeatTrail;
    // Newest first. What is notable comes apart from its matches, whose everyday course would wash it away.
    events: readonly FleetEvent[];
    matchEvents: readonly FleetEvent[];
    // Not registered, or not any more. Ids are not used again, so nobody asks further.
    gone: boolean;
}

export function useServer(id: number): LoadedServer {
    const { api } = usePage();
    const heartbeats = useRef(new HeartbeatTrail());
    const [server, setServer] = useState<ServerWithHistory | null>(null);
    const [events, setEvents] = useState<readonly FleetEvent[]>([]);
    const [matchEvents, setMatchEvents] = useState<readonly FleetEvent[]>([]);
    const [gone, setGone] = useState(false);

    const repeated = useRepeated(async (signal) => {
        // False once it is gone.
        const loadServer = async (): Promise<boolean> => {
            try {
                const answer = await api.get<ServerWithHistory>(`servers/${id}`, signal);
                heartbeats.current.push(Date.now(), answer.last_heartbeat_ms_ago);
                setServer(answer);
                return true;
            } catch (failure) {
                if (failure instanceof Refused && failure.status === NOT_FOUND) return false;
                throw failure;
            }
        };
        const loadEvents = async (types: string): Promise<readonly FleetEvent[]> => {
            const page = await api.get<EventPage>(`events?server=${id}&type=${types}&limit=${EVENTS_MAX}`, signal);
            return page.events.toReversed();
        };
        const there = await loadServer();
        setGone(!there);
        setEvents(await loadEvents(typesOf(NOTABLE)));
        setMatchEvents(await loadEvents(typesOf("match")));
        return there;
    }, id);

    return { server, heartbeats: heartbeats.current, events, matchEvents, gone, ...repeated };
}
