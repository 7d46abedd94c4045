// What a view loads when it opens, and again and again while it is open.

import { useEffect, useState } from "preact/hooks";
import { NotSignedIn } from "../api/api";
import { usePage, useStore } from "./page_context";

const REFRESH_MS = 1_000;

export interface Repeated {
    // Why the last load failed; null when it did not.
    error: string | null;
    // Loads now, after an action.
    reload: () => void;
}

// `load` throws when it fails, which is told and tried again; it returns false when nothing more will change. It starts
// over when `subject` changes, and when somebody signs in, for whom it waits.
export function useRepeated(load: (signal: AbortSignal) => Promise<boolean>, subject: unknown, refreshMs = REFRESH_MS): Repeated {
    const { api, gate } = usePage();
    const signedIn = useStore(gate.held);
    const [error, setError] = useState<string | null>(null);
    const [round, setRound] = useState(0);

    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        const once = async () => {
            try {
                const more = await load(stop.signal);
                setError(null);
                if (!more) return;
            } catch (failure) {
                if (stop.signal.aborted || failure instanceof NotSignedIn) return;
                setError(textOf(failure));
            }
            if (!stop.signal.aborted) timer = setTimeout(() => void once(), refreshMs);
        };
        void once();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [api, subject, round, signedIn]);

    return { error, reload: () => setRound((before) => before + 1) };
}

export function textOf(failure: unknown): string {
    return failure instanceof Error ? failure.message : String(failure);
}
