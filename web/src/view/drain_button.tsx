import { useState } from "preact/hooks";
import type { Server } from "../api/shapes";
import { usePage } from "./page_context";

// Takes a server out of the choice, or puts it back. Nothing that runs is touched, so it asks no question.
export function DrainButton({ server, changed }: { server: Server; changed: () => void }) {
    const { actions } = usePage();
    const [busy, setBusy] = useState(false);
    const drained = server.drained_by_operator;
    const press = async () => {
        setBusy(true);
        if (await actions.drain(server.id, !drained)) changed();
        setBusy(false);
    };
    return (
        <button type="button" disabled={busy} onClick={() => void press()} aria-label={`${drained ? "Undrain" : "Drain"} server ${server.id}`}>
            {drained ? "Undrain" : "Drain"}
        </button>
    );
}
