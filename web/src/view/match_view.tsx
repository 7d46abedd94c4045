// One match: its facts, its way from the request to the end, who came.

import { useMemo } from "preact/hooks";
import type { MatchWithPlayers } from "../api/shapes";
import { duration, foreign, NONE } from "../model/format";
import { choiceText, timelineOf, type TimelineStep } from "../model/match_timeline";
import { routeTo, routeToEvents, routeToServer } from "../model/route";
import { EventParts } from "./event_list";
import { Fact } from "./fact";
import { AbortButton, OVER, State } from "./matches_view";
import { Moment } from "./moment";
import { usePage, useRegionName, useStore } from "./page_context";
import { useMatch } from "./use_match";

const PLAYERS_SHOWN = 40;

export function MatchView({ lobby }: { lobby: number }) {
    const { match, events, loading, error, reload } = useMatch(lobby);
    const regionName = useRegionName();
    const steps = useMemo(() => timelineOf(match, events, regionName), [match, events]);
    const unknown = !loading && match === null;
    return (
        <>
            <p class="back">
                <a href={routeTo("matches")}>← All matches</a>
            </p>
            {error !== null && <p class="note wrong">Lobby {lobby} could not be loaded: {foreign(error)}</p>}
            {unknown && (
                <p class="note" role="status">
                    <strong>Lobby {lobby} has no match that Muster still knows.</strong>{" "}
                    {events.length > 0 ? "These are its events." : "Its history does not reach back so far, or nobody asked for it."}
                </p>
            )}
            {match !== null && <Facts match={match} changed={reload} />}
            {(match !== null || events.length > 0) && (
                <section class="panel" aria-labelledby="match-timeline">
                    <h2 id="match-timeline">
                        From request to end <a href={routeToEvents({ lobby })}>events</a>
                    </h2>
                    <Timeline steps={steps} />
                </section>
            )}
            {loading && error === null && <p class="empty">Loading…</p>}
        </>
    );
}

function Facts({ match, changed }: { match: MatchWithPlayers; changed: () => void }) {
    const { watch } = usePage();
    const regionName = useRegionName();
    const now = useStore(watch.reading)?.overview.time_ms ?? Date.now();
    const begun = match.requested_at_ms;
    const over = OVER.includes(match.state);
    return (
        <section class="panel" aria-label="Facts">
            <dl class="facts six">
                <Fact label="State">
                    <State match={match} />
                </Fact>
                <Fact label="Server">
                    {match.server_id === null ? NONE : <a href={routeToServer(match.server_id)}>{match.server_id}</a>}
                </Fact>
                <Fact label="Region">{regionName(match.region)}</Fact>
                <Fact label="Matchmaker">{foreign(match.matchmaker)}</Fact>
                <Fact label="Tokens used">
                    {match.tokens_used} of {match.player_count}
                </Fact>
                <Fact label={over ? "Lasted" : "Since the request"}>
                    {begun === null ? NONE : duration((match.ended_at_ms ?? now) - begun)}
                </Fact>
            </dl>
            {match.players.length > 0 && (
                <p class="detail">
                    Players{" "}
                    {match.players.slice(0, PLAYERS_SHOWN).map(({ id }, at) => (
                        <>
                            {at > 0 && ", "}
                            <a key={id} href={routeToEvents({ player: id })}>
                                {id}
                            </a>
                        </>
                    ))}
                    {match.players.length > PLAYERS_SHOWN && ` and ${match.players.length - PLAYERS_SHOWN} more`}
                </p>
            )}
            {!over && (
                <p class="buttons">
                    <AbortButton match={match} changed={changed} />
                </p>
            )}
        </section>
    );
}

function Timeline({ steps }: { steps: readonly TimelineStep[] }) {
    const first = steps[0]?.time_ms ?? 0;
    return (
        <ol class="events timeline">
            {steps.map((step) => (
                <li key={step.key} class={step.tone}>
                    <Moment at={step.time_ms} /> <span class="after">+{sinceRequest(step.time_ms - first)}</span>{" "}
                    <span class="what">{step.title}</span> <EventParts parts={step.parts} />
                    {step.choice !== null && <Choice step={step} />}
                </li>
            ))}
        </ol>
    );
}

// Why this server.
function Choice({ step }: { step: TimelineStep }) {
    const next = step.choice?.slice(1) ?? [];
    return (
        <span class="choice">
            Chosen as {choiceText(step)}.
            {next.length > 0 && " Next would have been "}
            {next.map(({ server, score, load }, at) => (
                <>
                    {at > 0 && ", "}
                    <a href={routeToServer(server)}>{server}</a> (score {Math.round(score * 100) / 100}, load {load})
                </>
            ))}
            {next.length > 0 && "."}
        </span>
    );
}

function sinceRequest(ms: number): string {
    return ms < 10_000 ? `${(ms / 1000).toFixed(3)}\u00A0s` : duration(ms);
}
