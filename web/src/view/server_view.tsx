// One server: its figures, its heartbeats and load over time, what happened to it.

import { useMemo } from "preact/hooks";
import type { ServerWithHistory } from "../api/shapes";
import { ago, count, duration, figure, foreign, measured, measuredJitter, milliseconds, millisecondsScale, percent, roundTrip } from "../model/format";
import type { HeartbeatTrail } from "../model/heartbeat_trail";
import { routeTo, routeToEvents } from "../model/route";
import { Chart } from "./chart";
import { DrainButton } from "./drain_button";
import { EventList } from "./event_list";
import { Fact } from "./fact";
import { Moment } from "./moment";
import { usePage, useRegionName, useStore } from "./page_context";
import { STATUS_TONES } from "./servers_view";
import { StatusMark } from "./status_mark";
import { useServer } from "./use_server";

const SAMPLES_SHOWN = 12;
const SILENCE_MS_USUAL = 10_000; // the longest that a server is silent when all is well

export function ServerView({ id }: { id: number }) {
    const { server, heartbeats, events, matchEvents, gone, error, reload } = useServer(id);
    const happened = (
        <section class="panel" aria-labelledby="server-events">
            <h2 id="server-events">
                Events of this server <a href={routeToEvents({ server: id })}>all</a>
            </h2>
            <EventList events={events} without="server_id" empty="No events recorded." />
        </section>
    );
    const played = (
        <section class="panel" aria-labelledby="server-matches">
            <h2 id="server-matches">
                Its matches <a href={routeTo("matches", { server: id })}>all</a>
            </h2>
            <EventList events={matchEvents} without="server_id" empty="It has not been asked to take a match." />
        </section>
    );
    return (
        <>
            <p class="back">
                <a href={routeTo("servers")}>← All servers</a>
            </p>
            {gone && (
                <p class="note" role="status">
                    <strong>Server {id} is not registered{server !== null && " any more"}.</strong>{" "}
                    {server !== null && "These are its last figures."}
                </p>
            )}
            {error !== null && <p class="note wrong">Server {id} could not be loaded: {foreign(error)}</p>}
            {server === null ? (
                gone && happened
            ) : (
                <div class={gone ? "gone" : undefined}>
                    <Facts server={server} gone={gone} changed={reload} />
                    <Figures server={server} heartbeats={heartbeats} />
                    <div class="halves">
                        <div>
                            {happened}
                            {played}
                        </div>
                        <Reports server={server} />
                    </div>
                </div>
            )}
        </>
    );
}

function Facts({ server, gone, changed }: { server: ServerWithHistory; gone: boolean; changed: () => void }) {
    const { watch } = usePage();
    const regionName = useRegionName();
    const now = useStore(watch.reading)?.overview.time_ms ?? Date.now();
    return (
        <section class="panel" aria-label="Facts">
            <dl class="facts seven">
                <div>
                    <dt>Status</dt>
                    <dd class="status">
                        <StatusMark tone={STATUS_TONES[server.status]} /> {server.status}
                    </dd>
                </div>
                <Fact label="Address">{`${server.ip}:${server.port}`}</Fact>
                <Fact label="Region">{regionName(server.region)}</Fact>
                <Fact label="Matches">
                    {server.matches} of {server.max_matches}
                </Fact>
                <Fact label="Reported matches">{server.reported_matches}</Fact>
                <Fact label="CPU">{percent(server.cpu)}</Fact>
                <Fact label="Memory">{percent(server.memory)}</Fact>
                <Fact label="Last heartbeat">{ago(server.last_heartbeat_ms_ago)}</Fact>
                <Fact label="Round trip">{roundTrip(measured(server.rtt_ms))}</Fact>
                <Fact label="Jitter">{roundTrip(measuredJitter(server.jitter_ms, server.rtt_ms))}</Fact>
                <Fact label="Link">{server.connected ? "connected" : "lost"}</Fact>
                <Fact label="Registered for">{duration(now - server.registered_at_ms)}</Fact>
                <Fact label="Chosen">{count(server.choices)} times</Fact>
                <Fact label="Epoch">{server.epoch}</Fact>
            </dl>
            {server.drain !== null && <Drain drain={server.drain} />}
            <p class="buttons">
                {!gone && <DrainButton server={server} changed={changed} />}
            </p>
        </section>
    );
}

// Who drained it, when and why.
function Drain({ drain: { who, reason, at_ms } }: { drain: NonNullable<ServerWithHistory["drain"]> }) {
    return (
        <p class="detail">
            Drained by {who === "" ? "itself" : <>an operator at {foreign(who)}</>}
            {at_ms !== null && (
                <>
                    {" "}
                    since <Moment at={at_ms} />
                </>
            )}
            {reason !== "" && <>: {foreign(reason)}</>}
        </p>
    );
}

function Figures({ server, heartbeats }: { server: ServerWithHistory; heartbeats: HeartbeatTrail }) {
    const beats = useMemo(() => {
        const { seconds: at, silence } = heartbeats.columns();
        return { seconds: at, lines: [{ label: "silent for", colour: "--line-1", values: silence, filled: true }] };
    }, [server]);
    const { seconds, matches, load, round } = useMemo(() => {
        const { history } = server;
        return {
            seconds: history.map((sample) => sample.time_ms / 1000),
            matches: [{ label: "matches", colour: "--line-1", values: history.map((sample) => sample.matches), filled: true }],
            load: [
                { label: "CPU", colour: "--line-1", values: history.map((sample) => sample.cpu) },
                { label: "memory", colour: "--line-2", values: history.map((sample) => sample.memory) },
            ],
            round: [{ label: "round trip", colour: "--line-1", values: history.map((sample) => measured(sample.rtt_ms)) }],
        };
    }, [server.history]);
    return (
        <section class="panel" aria-labelledby="server-load">
            <h2 id="server-load">Heartbeats and load</h2>
            <div class="quarters">
                <Chart
                    title="Silence before each heartbeat"
                    seconds={beats.seconds}
                    lines={beats.lines}
                    format={milliseconds}
                    scale={millisecondsScale}
                    least={SILENCE_MS_USUAL}
                />
                <Chart title={`Matches, of ${server.max_matches}`} seconds={seconds} lines={matches} format={figure} least={server.max_matches} whole />
                <Chart title="CPU and memory" seconds={seconds} lines={load} format={percent} least={100} />
                <Chart title="Round trip" seconds={seconds} lines={round} format={roundTrip} scale={millisecondsScale} />
            </div>
        </section>
    );
}

function Reports({ server }: { server: ServerWithHistory }) {
    const newest = server.history.slice(-SAMPLES_SHOWN).reverse();
    return (
        <section class="panel" aria-labelledby="server-reports">
            <h2 id="server-reports">Load reports</h2>
            <table>
                <caption class="unseen">The latest figures, newest first</caption>
                <thead>
                    <tr>
                        <th scope="col">Time</th>
                        <th scope="col" class="number">
                            Matches
                        </th>
                        <th scope="col" class="number">
                            CPU
                        </th>
                        <th scope="col" class="number">
                            Memory
                        </th>
                        <th scope="col" class="number">
                            Round trip
                        </th>
                    </tr>
                </thead>
                <tbody>
                    {newest.map((sample) => (
                        <tr key={sample.time_ms}>
                            <th scope="row">
                                <Moment at={sample.time_ms} />
                            </th>
                            <td class="number">{sample.matches}</td>
                            <td class="number">{percent(sample.cpu)}</td>
                            <td class="number">{percent(sample.memory)}</td>
                            <td class="number">{roundTrip(measured(sample.rtt_ms))}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {newest.length === 0 && <p class="empty">The first figures appear within ten seconds.</p>}
        </section>
    );
}
