import { expect, it } from "vitest";
import type { FleetEvent, MatchWithPlayers } from "../api/shapes";
import { choiceText, timelineOf } from "./match_timeline";

const regionName = (id: number) => (id === 2 ? "EU" : `region ${id}`);
const match: MatchWithPlayers = {
    lobby_id: 7,
    server_id: 5,
    matchmaker: "chat-1",
    region: 2,
    state: "aborted",
    reason: "late",
    game_type: 0,
    game_mode: 0,
    player_count: 10,
    average_rating: 0,
    tokens_used: 2,
    requested_at_ms: 100,
    allocated_at_ms: 150,
    ready_at_ms: null,
    started_at_ms: null,
    ended_at_ms: 190,
    players: [
        { id: 31, joined_at_ms: 160 },
        { id: 32, joined_at_ms: null },
    ],
};
const events: FleetEvent[] = [
    { id: 6, time_ms: 190, type: "match.aborted", lobby_id: 7, server_id: 5, reason: "late" },
    {
        id: 1,
        time_ms: 100,
        type: "match.offered",
        lobby_id: 7,
        server_id: 12,
        attempt: 1,
        candidates: 833,
        score: 97.3,
        load: 1,
        next_best: [{ id: 5, score: 97.1, load: 1 }],
    },
    { id: 2, time_ms: 120, type: "match.declined", lobby_id: 7, server_id: 12, reason: "refused by the server" },
    { id: 3, time_ms: 120, type: "match.offered", lobby_id: 7, server_id: 5, attempt: 2, candidates: 1, score: 97.1, load: 1 },
    { id: 4, time_ms: 150, type: "match.allocated", lobby_id: 7, server_id: 5, seconds: 0.05 },
];

it("O-2: a match is told from its request to its end: offers and why, who refused, tokens, reasons", () => {
    const steps = timelineOf(match, events, regionName);
    expect(steps.map(({ title, tone }) => `${title} (${tone})`)).toEqual([
        "Match requested (plain)",
        "Match offered (plain)",
        "Offer declined (warn)",
        "Match offered (plain)",
        "Match allocated (plain)",
        "Token used (plain)",
        "Match aborted (bad)",
    ]);
    expect(steps[1]?.choice).toEqual([
        { server: 12, score: 97.3, load: 1 },
        { server: 5, score: 97.1, load: 1 },
    ]);
    expect(steps.map(choiceText)).toContain("the best of 833: score 97.3, load 1");
    expect(steps.map(choiceText)).toContain("the only candidate: score 97.1, load 1");
    expect(steps[2]?.parts).toContainEqual({ label: "reason", text: "refused by the server" });
    expect(steps[5]?.parts).toEqual([{ label: "player", text: "31", href: "#/events?player=31" }]);
    // The lobby is the page's title.
    expect(steps.flatMap(({ parts }) => parts).some(({ label }) => label === "lobby")).toBe(false);
});

it("a request over HTTP is told once, and a match that is forgotten by its events alone", () => {
    const asked: FleetEvent = { id: 0, time_ms: 99, type: "match.requested", lobby_id: 7, matchmaker: "@http", who: "::1" };
    expect(timelineOf(match, [asked, ...events], regionName).filter(({ title }) => title === "Match requested")).toHaveLength(1);
    expect(timelineOf(null, events, regionName)).toHaveLength(events.length);
    expect(timelineOf(null, [], regionName)).toEqual([]);
});

it("players who came one after the other are one step", () => {
    const players = [31, 32, 33, 34].map((id, at) => ({ id, joined_at_ms: at === 3 ? 175 : 160 + at }));
    const started: FleetEvent = { id: 5, time_ms: 170, type: "match.started", lobby_id: 7, server_id: 5 };
    const steps = timelineOf({ ...match, players }, [...events, started], regionName);
    expect(steps.map(({ title }) => title).slice(5, 8)).toEqual(["3 tokens used", "Match started", "Token used"]);
    expect(steps[5]?.parts.map(({ text }) => text)).toEqual(["31", "32", "33"]);
});
