// Says plainly that the daemon does not answer, since when, and what the page does about it.

import { useEffect, useState } from "preact/hooks";
import { duration, foreign, isoTime, timeOfDay } from "../model/format";
import { usePage, useStore } from "./page_context";

export function LinkBanner() {
    const { watch, signIn } = usePage();
    const link = useStore(watch.link);
    const reading = useStore(watch.reading);

    if (link.state === "lost")
        return (
            <section class="banner bad" aria-label="Connection">
                <p>
                    <strong>Muster does not answer</strong> since <time dateTime={isoTime(link.since)}>{timeOfDay(link.since)}</time> (
                    <Elapsed since={link.since} />
                    ). {reading === null ? "There is nothing to show yet" : "What you see below is from then"}; the page keeps trying.
                </p>
                <p class="detail">{foreign(link.reason)}</p>
                <button type="button" onClick={() => watch.retry()}>
                    Try now
                </button>
            </section>
        );
    if (link.state === "locked")
        return (
            <section class="banner warn" aria-label="Connection">
                <p>
                    <strong>Muster asks for the admin token</strong> before it shows anything.
                </p>
                <button type="button" onClick={signIn}>
                    Enter the token
                </button>
            </section>
        );
    return null;
}

function Elapsed({ since }: { since: number }) {
    const [now, setNow] = useState(Date.now());
    useEffect(() => {
        const timer = setInterval(() => setNow(Date.now()), 1000);
        return () => clearInterval(timer);
    }, []);
    return <>{duration(now - since)}</>;
}
