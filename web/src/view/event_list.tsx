import type { FleetEvent } from "../api/shapes";
import { eventParts, eventTitle, eventTone } from "../model/event_text";
import { routeToServer } from "../model/route";
import { Moment } from "./moment";
import { useRegionName } from "./page_context";

interface EventListProps {
    events: readonly FleetEvent[];
    // A field that all of them share, and that is therefore not said each time.
    without?: string;
    empty: string;
}

export function EventList({ events, without, empty }: EventListProps) {
    const regionName = useRegionName();
    if (events.length === 0) return <p class="empty">{empty}</p>;
    return (
        <ol class="events">
            {events.map((event) => (
                <li key={event.id} class={eventTone(event)}>
                    <Moment at={event.time_ms} /> <span class="what">{eventTitle(event)}</span>{" "}
                    {eventParts(event, regionName, without).map(({ label, text, server }) => (
                        <span key={label} class="part">
                            <span class="label">{label}</span>{"\u00A0"}{server === undefined ? text : <a href={routeToServer(server)}>{text}</a>}{" "}
                        </span>
                    ))}
                </li>
            ))}
        </ol>
    );
}
