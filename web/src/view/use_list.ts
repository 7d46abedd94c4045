// A whole list of the API, loaded while its view is open and again every few seconds.

import { useEffect, useState } from "preact/hooks";
import { NotSignedIn } from "../api/api";
import { wholeList } from "../api/whole_list";
import { usePage, useStore } from "./page_context";

const REFRESH_SMALL_MS = 2_000;
const REFRESH_LARGE_MS = 5_000;
const SMALL_ROWS = 1_000;

export interface LoadedList<Row> {
    rows: readonly Row[];
    cut: boolean;
    // No answer has been here yet.
    loading: boolean;
    error: string | null;
    // Loads it now, after an action.
    reload: () => void;
}

interface Loaded<Row> {
    rows: readonly Row[];
    cut: boolean;
    loading: boolean;
    error: string | null;
}

export function useList<Row>(name: "servers" | "matches" | "players" | "matchmakers" | "hosts" | "operators" | "blocks"): LoadedList<Row> {
    const { api, gate } = usePage();
    // What was refused for want of the token is asked for again when it is there.
    const signedIn = useStore(gate.held);
    const [list, setList] = useState<Loaded<Row>>({ rows: [], cut: false, loading: true, error: null });
    const [round, setRound] = useState(0);

    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;

        const load = async () => {
            let next = REFRESH_SMALL_MS;
            try {
                // The first time rows are shown as they come; later the whole list changes at once.
                const progress = (rows: Row[]) =>
                    setList((before) => (before.loading ? { ...before, rows } : before));
                const whole = await wholeList<Row>(api, name, stop.signal, progress);
                if (whole.rows.length > SMALL_ROWS) next = REFRESH_LARGE_MS;
                setList({ ...whole, loading: false, error: null });
            } catch (error) {
                if (stop.signal.aborted) return;
                const text = error instanceof Error ? error.message : String(error);
                setList((before) => ({ ...before, error: text }));
                if (error instanceof NotSignedIn) return;
            }
            if (!stop.signal.aborted) timer = setTimeout(onceSeen, next);
        };
        // A tab that nobody looks at does not ask.
        const onceSeen = () => {
            if (!document.hidden) return void load();
            document.addEventListener("visibilitychange", onceSeen, { once: true, signal: stop.signal });
        };
        onceSeen();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [api, name, round, signedIn]);

    return { ...list, reload: () => setRound((before) => before + 1) };
}
