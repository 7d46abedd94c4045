// The nodes and cells as the asked node sees them, loaded again every second while their view is open.

import { useEffect, useState } from "preact/hooks";
import { NotSignedIn } from "../api/api";
import type { Cluster } from "../api/shapes";
import { usePage, useStore } from "./page_context";

const REFRESH_MS = 1_000;

export interface LoadedCluster {
    // Null before the first answer.
    cluster: Cluster | null;
    error: string | null;
    // Loads it now, after an action.
    reload: () => void;
}

export function useCluster(): LoadedCluster {
    const { api, gate } = usePage();
    const signedIn = useStore(gate.held);
    const [cluster, setCluster] = useState<Cluster | null>(null);
    const [error, setError] = useState<string | null>(null);
    const [round, setRound] = useState(0);
    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        const load = async () => {
            try {
                setCluster(await api.get<Cluster>("cluster", stop.signal));
                setError(null);
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
    }, [api, round, signedIn]);
    return { cluster, error, reload: () => setRound((before) => before + 1) };
}
