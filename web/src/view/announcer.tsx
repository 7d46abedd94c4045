// Tells a screen reader, politely, what changed by itself: health, and the connection. Figures that
// change every second are not told; they are there to be asked for.

import { useRef } from "preact/hooks";
import type { Overview } from "../api/shapes";
import { foreign } from "../model/format";
import type { Link } from "../model/overview_watch";
import { usePage, useStore } from "./page_context";
import { HEALTH_WORDS } from "./status_mark";

export function Announcer() {
    const { watch } = usePage();
    const link = useStore(watch.link);
    const health = useStore(watch.reading)?.overview.health;
    const told = useRef({ about: "", text: "" });

    const text = wordsFor(link, health);
    // The same reason with other numbers in it is no news.
    const about = text.replace(/[0-9]+/g, "#");
    if (about !== told.current.about) told.current = { about, text };
    return (
        <p class="unseen" role="status" aria-live="polite">
            {told.current.text}
        </p>
    );
}

function wordsFor(link: Link, health: Overview["health"] | undefined): string {
    if (link.state === "lost") return "Muster does not answer. The page keeps trying.";
    if (link.state === "locked") return "Muster asks for the admin token.";
    if (link.state === "connecting" || health === undefined) return "";
    return [`Health: ${HEALTH_WORDS[health.status]}`, ...health.reasons.map((reason) => foreign(reason))].join(". ");
}
