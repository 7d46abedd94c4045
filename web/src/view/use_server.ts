// One server and what happened to it, loaded again every second while its view is open.

import { useEffect, useRef, useState } from "preact/hooks";
import { NotSignedIn, Refused } from "../api/api";
import type { EventPage, FleetEvent, ServerWithHistory } from "../api/shapes";
import { HeartbeatTrail } from "../model/heartbeat_trail";
import { usePage, useStore } from "./page_context";

const REFRESH_MS = 1_000;
const EVENTS_MAX = 14;
const NOT_FOUND = 404;

export interface LoadedServer {
    // As it was when it was last seen; null before the first answer, and for one that was gone by then.
    server: ServerWithHistory | null;
    heartbeats: HeartbeatTrail;
    events: readonly FleetEvent[]; // newest first
    // Not registered, or not any more. Ids are not used again, so nobody asks further.
    gone: boolean;
    error: string | null;
    // Loads it now, after an action.
    reload: () => void;
}

export function useServer(id: number): LoadedServer {
    const { api, gate } = usePage();
    const signedIn = useStore(gate.held);
    const heartbeats = useRef(new HeartbeatTrail());
    const [server, setServer] = useState<ServerWithHistory | null>(null);
    const [events, setEvents] = useState<readonly FleetEvent[]>([]);
    const [gone, setGone] = useState(false);
    const [error, setError] = useState<string | null>(null);
    const [round, setRound] = useState(0);

    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;

        // False once it is gone.
        const loadServer = async (): Promise<boolean> => {
            try {
                const answer = await api.get<ServerWithHistory>(`servers/${id}`, stop.signal);
                heartbeats.current.push(Date.now(), answer.last_heartbeat_ms_ago);
                setServer(answer);
                return true;
            } catch (failure) {
                if (failure instanceof Refused && failure.status === NOT_FOUND) return false;
                throw failure;
            }
        };
        const load = async () => {
            try {
                const there = await loadServer();
                setGone(!there);
                const page = await api.get<EventPage>(`events?server=${id}&limit=${EVENTS_MAX}`, stop.signal);
                setEvents(page.events.toReversed());
                setError(null);
                if (!there) return;
            } catch (failure) {
                if (stop.signal.aborted || failure instanceof NotSignedIn) return;
                setError(failure instanceof Error ? failure.message : String(failure));
            }
            if (!stop.signal.aborted) timer = setTimeout(() => void load(), REFRESH_MS);
        };
        void load();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [api, id, round, signedIn]);

    return { server, heartbeats: heartbeats.current, events, gone, error, reload: () => setRound((before) => before + 1) };
}
