import { duration, foreign } from "../model/format";
import { usePage, useStore } from "./page_context";
import { HEALTH_WORDS, StatusMark } from "./status_mark";

// The traffic light, with its reason in words.
export function HealthPanel() {
    const { watch } = usePage();
    const link = useStore(watch.link);
    const overview = useStore(watch.reading)?.overview;
    if (overview === undefined) return null;
    const known = link.state === "live";
    const { status, reasons } = overview.health;
    const tone = known ? status : "unknown";
    return (
        <section class={`health ${tone}`} aria-label="Health">
            <p class="verdict">
                <StatusMark tone={tone} /> {known ? HEALTH_WORDS[status] : "Unknown"}
            </p>
            {!known ? (
                <p>Unknown: Muster does not answer.</p>
            ) : reasons.length === 0 ? (
                <p>Nothing needs attention.</p>
            ) : (
                <ul>
                    {reasons.map((reason) => (
                        <li key={reason}>{foreign(reason)}</li>
                    ))}
                </ul>
            )}
            <p class="uptime">Up for {duration(overview.uptime_s * 1000)}</p>
        </section>
    );
}
