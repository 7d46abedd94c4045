import type { Overview } from "../api/shapes";
import { count, duration, milliseconds, percent, perSecond, share } from "../model/format";
import { routeTo } from "../model/route";
import { TIMES_WINDOW_MS, type Trail } from "../model/trail";

const SUCCESS_WINDOW_MS = 5 * 60_000;
const SUCCESS_PERCENT_GOOD = 99;
const SUCCESS_PERCENT_POOR = 90;

export function KeyFigures({ overview, trail }: { overview: Overview; trail: Trail }) {
    const { allocations, matchmakers, matches, players, regions, store } = overview;
    const sum = (pick: (region: Overview["regions"][number]) => number) => regions.reduce((total, region) => total + pick(region), 0);
    const available = sum((region) => region.servers.available);
    const full = sum((region) => region.servers.full);
    const draining = sum((region) => region.servers.draining);
    const offline = sum((region) => region.servers.offline);
    const capacity = sum((region) => region.capacity);
    const load = sum((region) => region.load);

    const recent = trail.rates(SUCCESS_WINDOW_MS);
    const decided = (recent.successes ?? 0) + (recent.failures ?? 0);
    const success = share(recent.successes ?? 0, decided);
    const window = duration(Math.min(SUCCESS_WINDOW_MS, trail.spanMs()));
    const succeeded =
        success === null ? "none asked for" : `${recent.failures === 0 ? "100" : Math.min(99.9, success).toFixed(1)}\u00A0% succeeded`;
    const times = trail.recentTimes();
    return (
        <section aria-label="Key figures">
            <dl class="tiles">
                <Tile label="Servers" value={count(available + full + draining + offline)} href={routeTo("servers")}>
                    {parts({ available, full, draining, offline }) || "none"}
                </Tile>
                <Tile label="Room in use" value={percent(share(load, capacity))}>
                    {count(load)} of {count(capacity)} matches
                </Tile>
                <Tile label="Allocations" value={perSecond(trail.rates().requests)}>
                    {trail.spanMs() > 0 && (
                        <>
                            <span class={successTone(success)}>{succeeded}</span> in {window},{" "}
                        </>
                    )}
                    {count(allocations.in_flight)} in flight
                </Tile>
                <Tile label="Allocation p95" value={milliseconds(times.p95)}>
                    {times.p95 === null ? "none answered" : `p50 ${milliseconds(times.p50)}, p99 ${milliseconds(times.p99)}`} in{" "}
                    {duration(TIMES_WINDOW_MS)}
                </Tile>
                <Tile label="Matches started" value={count(matches.started)} href={routeTo("matches")}>
                    {parts({ offering: matches.offering, allocated: matches.allocated, ready: matches.ready }) || "none on the way"}
                </Tile>
                <Tile label="Players" value={count(players.connected)} href={routeTo("players")}>
                    {count(players.idle)} idle, {count(players.in_grace)} away
                </Tile>
                <Tile label="Matchmakers" value={count(matchmakers)} href={routeTo("matchmakers")}>
                    connected
                </Tile>
                <Tile label="Store" value={store.up ? "Up" : "Down"} tone={store.up ? "plain" : "bad"}>
                    {count(store.queue_depth)} waiting
                </Tile>
            </dl>
        </section>
    );
}

function successTone(percent: number | null): "plain" | "warn" | "bad" {
    if (percent === null || percent >= SUCCESS_PERCENT_GOOD) return "plain";
    return percent >= SUCCESS_PERCENT_POOR ? "warn" : "bad";
}

// "56 available, 3 full": what there is none of is left out.
function parts(counts: Record<string, number>): string {
    const some = Object.entries(counts).filter(([, number]) => number > 0);
    return some.map(([name, number]) => `${count(number)}\u00A0${name}`).join(", ");
}

interface TileProps {
    label: string;
    value: string;
    href?: string;
    tone?: "plain" | "bad";
    children: preact.ComponentChildren;
}

function Tile({ label, value, href, tone = "plain", children }: TileProps) {
    return (
        <div class={`tile ${tone}`}>
            <dt>{href === undefined ? label : <a href={href}>{label}</a>}</dt>
            <dd class="value">{value}</dd>
            <dd class="detail">{children}</dd>
        </div>
    );
}
