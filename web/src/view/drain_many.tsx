import { useState } from "preact/hooks";
import type { Server } from "../api/shapes";
import { count } from "../model/format";
import { useMayOperate, usePage } from "./page_context";

interface DrainManyProps {
    // Those that are ticked, or all that match the filter.
    servers: readonly Server[];
    // How they were picked: "selected" or "shown".
    picked: string;
    changed: () => void;
}

// Drains or undrains many servers: those that are ticked, or what a filter found.
export function DrainMany({ servers, picked, changed }: DrainManyProps) {
    const may = useMayOperate();
    const drained = servers.filter((server) => server.drained_by_operator);
    const others = servers.filter((server) => !server.drained_by_operator);
    if (!may) return null;
    return (
        <span class="drain-many">
            {others.length > 0 && <Button servers={others} draining picked={picked} changed={changed} />}
            {drained.length > 0 && <Button servers={drained} draining={false} picked={picked} changed={changed} />}
        </span>
    );
}

function Button({ servers, draining, picked, changed }: DrainManyProps & { draining: boolean }) {
    const { actions, confirmation } = usePage();
    const [busy, setBusy] = useState(false);
    const many = `${count(servers.length)} ${servers.length === 1 ? "server" : "servers"}`;
    const press = async () => {
        if (busy) return;
        const reason = await confirmation.ask(draining ? drainQuestion(servers, many, picked) : undrainQuestion(many, picked));
        if (reason === null) return;
        setBusy(true);
        const ids = servers.map((server) => server.id);
        if (await actions.drainMany(ids, draining, reason)) changed();
        setBusy(false);
    };
    return (
        <button type="button" aria-disabled={busy} onClick={() => void press()}>
            {draining ? "Drain" : "Undrain"} {many} {picked}
        </button>
    );
}

function drainQuestion(servers: readonly Server[], many: string, picked: string) {
    const matches = servers.reduce((sum, server) => sum + server.matches, 0);
    const held = matches === 0 ? "They hold no match now." : `The ${count(matches)} matches they hold go on to their end.`;
    return {
        title: `Drain ${many}?`,
        text: `All that are ${picked}: they get no new match until they are undrained. ${held}`,
        action: `Drain ${many}`,
        reason: "",
        hurts: false,
    };
}

function undrainQuestion(many: string, picked: string) {
    return {
        title: `Undrain ${many}?`,
        text: `All that are ${picked} and that an operator drained take matches again.`,
        action: `Undrain ${many}`,
        reason: "",
        hurts: false,
    };
}
