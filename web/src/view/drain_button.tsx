import { useState } from "preact/hooks";
import type { Server } from "../api/shapes";
import { useMayOperate, usePage } from "./page_context";

// Takes a server out of the choice, which may say why, or puts it back, which needs no word.
export function DrainButton({ server, changed }: { server: Server; changed: () => void }) {
    const { actions, confirmation } = usePage();
    const [busy, setBusy] = useState(false);
    const may = useMayOperate();
    const drained = server.drained_by_operator;
    const press = async () => {
        if (busy) return;
        const reason = drained ? "" : await confirmation.ask(questionFor(server));
        if (reason === null) return;
        setBusy(true);
        if (await actions.drain(server.id, !drained, reason)) changed();
        setBusy(false);
    };
    if (!may) return null;
    // Not disabled while busy: that would take the focus from whoever pressed it by keyboard.
    return (
        <button
            type="button"
            class="drain"
            aria-disabled={busy}
            onClick={() => void press()}
            aria-label={`${drained ? "Undrain" : "Drain"} server ${server.id}`}
        >
            {drained ? "Undrain" : "Drain"}
        </button>
    );
}

function questionFor({ id, matches }: Server) {
    const held = matches === 0 ? "It holds none now." : matches === 1 ? "The one it holds goes on to its end." : `The ${matches} it holds go on to their end.`;
    return {
        title: `Drain server ${id}?`,
        text: `It gets no new match until it is undrained. ${held}`,
        action: "Drain the server",
        reason: "",
        hurts: false,
    };
}
