import { useMemo, useState } from "preact/hooks";
import type { FleetEvent } from "../api/shapes";
import { folded, shared } from "../model/event_fold";
import { eventParts, eventTitle, eventTone, manyTitle, type EventPart } from "../model/event_text";
import { Moment } from "./moment";
import { useRegionName } from "./page_context";

interface EventListProps {
    events: readonly FleetEvent[];
    // A field that all of them share, and that is therefore not said each time.
    without?: string;
    empty: string;
    // At most so many lines; equal events are one.
    most?: number;
}

// Newest first. Events that say the same of many are one line, which can be opened; a control has no links in it.
export function EventList({ events, without, empty, most = Infinity }: EventListProps) {
    const entries = useMemo(() => folded(events), [events]);
    if (events.length === 0) return <p class="empty">{empty}</p>;
    return (
        <ol class="events">
            {entries.slice(0, most).map((entry) =>
                entry.kind === "one" ? (
                    <OneEvent key={entry.event.id} event={entry.event} without={without} />
                ) : (
                    // Named by its oldest: a fold that grows stays the one that was opened.
                    <ManyEvents key={`fold ${entry.events.at(-1)?.id}`} events={entry.events} without={without} />
                ),
            )}
        </ol>
    );
}

function OneEvent({ event, without }: { event: FleetEvent; without: string | undefined }) {
    const regionName = useRegionName();
    return (
        <li class={eventTone(event)}>
            <Moment at={event.time_ms} /> <span class="what">{eventTitle(event)}</span>{" "}
            <EventParts parts={eventParts(event, regionName, without)} />
        </li>
    );
}

function ManyEvents({ events, without }: { events: readonly FleetEvent[]; without: string | undefined }) {
    const regionName = useRegionName();
    const [open, setOpen] = useState(false);
    const same = shared(events);
    return (
        <li class={`many ${eventTone(same)}`}>
            <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
                <summary>
                    <Moment at={same.time_ms} /> <span class="what">{manyTitle(same, events.length)}</span>{" "}
                    <EventParts parts={eventParts(same, regionName, without).map(({ label, text }) => ({ label, text }))} />
                </summary>
                {open && (
                    <ol class="events">
                        {events.map((event) => (
                            <OneEvent key={event.id} event={event} without={without} />
                        ))}
                    </ol>
                )}
            </details>
        </li>
    );
}

export function EventParts({ parts }: { parts: readonly EventPart[] }) {
    return (
        <>
            {parts.map(({ label, text, href }) => (
                <span key={`${label} ${text}`} class="part">
                    <span class="label">{label}</span>{"\u00A0"}{href === undefined ? text : <a href={href}>{text}</a>}{" "}
                </span>
            ))}
        </>
    );
}
