import type { Overview, RegionView } from "../api/shapes";
import { count, duration, percent, perSecond, share } from "../model/format";
import { routeTo } from "../model/route";
import { FAILURES_WINDOW_MS, type Trail } from "../model/trail";
import { Bar, loadTone } from "./bar";
import { StatusMark } from "./status_mark";

export function RegionPanel({ overview, trail }: { overview: Overview; trail: Trail }) {
    return (
        <section class="panel" aria-labelledby="regions">
            <h2 id="regions">Regions</h2>
            <table>
                <caption class="unseen">Servers, room and allocations by region</caption>
                <thead>
                    <tr>
                        <th scope="col">Region</th>
                        <th scope="col">Servers</th>
                        <th scope="col">Matches</th>
                        <th scope="col" class="number wide">
                            CPU
                        </th>
                        <th scope="col" class="number wide">
                            Memory
                        </th>
                        <th scope="col" class="number wide">
                            Requests
                        </th>
                        <th scope="col" class="number">
                            Failed<span class="wide">, {trail.spanMs() < FAILURES_WINDOW_MS ? duration(trail.spanMs()) : "1\u00A0min"}</span>
                        </th>
                    </tr>
                </thead>
                <tbody>
                    {overview.regions.map((region) => (
                        <Region key={region.id} region={region} trail={trail} />
                    ))}
                </tbody>
            </table>
            {overview.regions.every(isEmpty) && (
                <p class="empty">
                    {overview.had_servers ? (
                        "No game server is registered."
                    ) : (
                        <>
                            No game server has registered yet. <code>muster demo</code> shows a fleet at play.
                        </>
                    )}
                </p>
            )}
        </section>
    );
}

function isEmpty({ servers }: RegionView): boolean {
    return servers.available + servers.full + servers.draining + servers.offline === 0;
}

function Region({ region, trail }: { region: RegionView; trail: Trail }) {
    const used = share(region.load, region.capacity);
    const { requests, failures } = trail.region(region.id);
    const online = region.servers.available + region.servers.full + region.servers.draining;
    return (
        <tr>
            <th scope="row">
                <a href={routeTo("servers", { region: region.id })}>{region.name}</a>
                {region.brake && (
                    <span class="brake">
                        <StatusMark tone="warn" /> brake
                    </span>
                )}
            </th>
            <td>
                <ServerCounts region={region} />
            </td>
            <td>
                {used === null ? (
                    "–"
                ) : (
                    <span class="with-bar">
                        <span>
                            {count(region.load)} of {count(region.capacity)} ({percent(used)})
                        </span>
                        <Bar percent={used} tone={loadTone(used)} />
                    </span>
                )}
            </td>
            <td class="number wide">{online === 0 ? "–" : percent(region.cpu_percent)}</td>
            <td class="number wide">{online === 0 ? "–" : percent(region.memory_percent)}</td>
            <td class="number wide">{perSecond(requests)}</td>
            <td class={failures !== null && failures > 0 ? "number wrong" : "number"}>{failures === null ? "–" : count(failures)}</td>
        </tr>
    );
}

// Only what there is, each a way to those servers.
function ServerCounts({ region }: { region: RegionView }) {
    const { available, full, draining, offline } = region.servers;
    const parts = [
        { status: "available", number: available, tone: "ok" },
        { status: "full", number: full, tone: "warn" },
        { status: "draining", number: draining, tone: "unknown" },
        { status: "offline", number: offline, tone: "bad" },
    ] as const;
    const shown = parts.filter(({ number }) => number > 0);
    if (shown.length === 0) return <>none</>;
    return (
        <ul class="counts">
            {shown.map(({ status, number, tone }) => (
                <li key={status}>
                    <a href={routeTo("servers", { region: region.id, status })}>
                        <StatusMark tone={tone} /> {count(number)}
                        <span class="word"> {status}</span>
                    </a>
                </li>
            ))}
        </ul>
    );
}
