// One server: its figures, its last minutes, what happened to it.

import { useEffect, useMemo, useState } from "preact/hooks";
import { NotSignedIn } from "../api/api";
import type { EventPage, FleetEvent, ServerWithHistory } from "../api/shapes";
import { ago, count, duration, figure, foreign, measured, milliseconds, percent } from "../model/format";
import { routeTo } from "../model/route";
import { Chart } from "./chart";
import { DrainButton } from "./drain_button";
import { EventList } from "./event_list";
import { Moment } from "./moment";
import { usePage, useRegionName, useStore } from "./page_context";
import { STATUS_TONES } from "./servers_view";
import { StatusMark } from "./status_mark";

const REFRESH_MS = 2_000;
const EVENTS_SHOWN = 20;
const HEARTBEATS_SHOWN = 12;

export function ServerView({ id }: { id: number }) {
    const { server, events, error, reload } = useServer(id);
    return (
        <>
            <p class="back">
                <a href={routeTo("servers")}>← All servers</a>
            </p>
            {error !== null && <p class="note wrong">Server {id} could not be loaded: {foreign(error)}</p>}
            {server !== null && (
                <>
                    <Facts server={server} changed={reload} />
                    <Figures server={server} />
                    <div class="halves">
                        <Heartbeats server={server} />
                        <section class="panel" aria-labelledby="server-events">
                            <h2 id="server-events">What happened to it</h2>
                            <EventList events={events} without="server_id" empty="Nothing is on record." />
                        </section>
                    </div>
                </>
            )}
        </>
    );
}

function Facts({ server, changed }: { server: ServerWithHistory; changed: () => void }) {
    const { watch } = usePage();
    const regionName = useRegionName();
    const now = useStore(watch.reading)?.overview.time_ms ?? Date.now();
    const draining = server.drained_by_operator ? " (by operator)" : server.draining ? " (by itself)" : "";
    return (
        <section class="panel" aria-label="Facts">
            <dl class="facts">
                <div>
                    <dt>Status</dt>
                    <dd class="status">
                        <StatusMark tone={STATUS_TONES[server.status]} /> {server.status}
                        {draining}
                    </dd>
                </div>
                <Fact label="Address">{`${server.ip}:${server.port}`}</Fact>
                <Fact label="Region">{regionName(server.region)}</Fact>
                <Fact label="Matches">
                    {server.matches} of {server.max_matches}
                </Fact>
                <Fact label="Reports itself">{server.reported_matches}</Fact>
                <Fact label="CPU">{percent(server.cpu)}</Fact>
                <Fact label="Memory">{percent(server.memory)}</Fact>
                <Fact label="Last heartbeat">{ago(server.last_heartbeat_ms_ago)}</Fact>
                <Fact label="Round trip">{milliseconds(measured(server.rtt_ms))}</Fact>
                <Fact label="Jitter">{milliseconds(measured(server.jitter_ms))}</Fact>
                <Fact label="Link">{server.connected ? "connected" : "lost"}</Fact>
                <Fact label="Registered for">{duration(now - server.registered_at_ms)}</Fact>
                <Fact label="Chosen">{count(server.choices)} times</Fact>
                <Fact label="Epoch">{server.epoch}</Fact>
            </dl>
            <p class="buttons">
                <DrainButton server={server} changed={changed} />
                <a href={routeTo("matches", { server: server.id })}>Its matches</a>
            </p>
        </section>
    );
}

function Fact({ label, children }: { label: string; children: preact.ComponentChildren }) {
    return (
        <div>
            <dt>{label}</dt>
            <dd>{children}</dd>
        </div>
    );
}

function Figures({ server }: { server: ServerWithHistory }) {
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
            <h2 id="server-load">Last minutes</h2>
            <div class="thirds">
                <Chart title={`Matches, of ${server.max_matches}`} seconds={seconds} lines={matches} format={figure} least={server.max_matches} />
                <Chart title="CPU and memory" seconds={seconds} lines={load} format={percent} least={100} />
                <Chart title="Round trip" seconds={seconds} lines={round} format={milliseconds} />
            </div>
        </section>
    );
}

function Heartbeats({ server }: { server: ServerWithHistory }) {
    const newest = server.history.slice(-HEARTBEATS_SHOWN).reverse();
    return (
        <section class="panel" aria-labelledby="server-heartbeats">
            <h2 id="server-heartbeats">What it reported</h2>
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
                            <td class="number">{milliseconds(measured(sample.rtt_ms))}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {newest.length === 0 && <p class="empty">Nothing yet.</p>}
        </section>
    );
}

function useServer(id: number) {
    const { api, gate } = usePage();
    const signedIn = useStore(gate.held);
    const [server, setServer] = useState<ServerWithHistory | null>(null);
    const [events, setEvents] = useState<FleetEvent[]>([]);
    const [error, setError] = useState<string | null>(null);
    const [round, setRound] = useState(0);

    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        const load = async () => {
            try {
                const answer = await api.get<ServerWithHistory>(`servers/${id}`, stop.signal);
                setServer(answer);
                setError(null);
                const page = await api.get<EventPage>(`events?server=${id}&limit=${EVENTS_SHOWN}`, stop.signal);
                setEvents(page.events.toReversed());
            } catch (failure) {
                if (stop.signal.aborted || failure instanceof NotSignedIn) return;
                setError(failure instanceof Error ? failure.message : String(failure));
            }
            if (!stop.signal.aborted) timer = setTimeout(() => void load(), REFRESH_MS);
        };
        void load();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [api, id, round, signedIn]);

    return { server, events, error, reload: () => setRound((before) => before + 1) };
}
