import { expect, it } from "vitest";
import { eventParts, eventTitle, eventTone, isNotable } from "./event_text";

const regionName = (id: number) => (id === 2 ? "EU" : `region ${id}`);

it("O-2: an event says what it is about first, then the rest, and names its region", () => {
    const parts = eventParts(
        { id: 1, time_ms: 2, type: "match.aborted", reason: "Server left", region: 2, lobby_id: 7, server_id: 12, extra: true },
        regionName,
    );
    expect(parts).toEqual([
        { label: "server", text: "12", href: "#/servers/12" },
        { label: "lobby", text: "7", href: "#/matches/7" },
        { label: "region", text: "EU" },
        { label: "reason", text: "Server left" },
        { label: "extra", text: "true" },
    ]);
});

it("times have a unit, and as many digits as a person wants", () => {
    expect(eventParts({ id: 1, time_ms: 2, type: "match.allocated", seconds: 0.011077710000001 }, regionName)).toEqual([
        { label: "took", text: "11.1\u00A0ms" },
    ]);
    expect(eventParts({ id: 1, time_ms: 2, type: "server.removed", silence_seconds: 6.01, uptime_seconds: 68 }, regionName)).toEqual([
        { label: "silent for", text: "6.01\u00A0s" },
        { label: "was up for", text: "1\u00A0min 8\u00A0s" },
    ]);
});

it("leaves out what is empty and what is asked to be", () => {
    expect(eventParts({ id: 1, time_ms: 2, type: "match.ended", reason: "", lobby_id: null, server_id: 3 }, regionName, "server_id")).toEqual([]);
});

it("fault 70: hostile fields are text, and a field named server that is no number is no link", () => {
    const [part] = eventParts({ id: 1, time_ms: 2, type: "player.login", server_id: "\u001b<b>" }, regionName);
    expect(part).toEqual({ label: "server", text: "␛<b>" });
});

it("O-2: an operator's action is told with what it was done to, once", () => {
    const drain = { id: 1, time_ms: 2, type: "operator.action", who: "127.0.0.1", action: "drain", target: "server 3", server_id: 3 };
    expect(eventTitle(drain)).toBe("Operator: drain");
    expect(eventParts(drain, regionName)).toEqual([
        { label: "who", text: "127.0.0.1" },
        { label: "server", text: "3", href: "#/servers/3" },
    ]);
    const { server_id, ...untold } = { ...drain, action: "set clock", target: "day 1 00:06" };
    expect(eventParts(untold, regionName)).toEqual([
        { label: "who", text: "127.0.0.1" },
        { label: "target", text: "day 1 00:06" },
    ]);
});

it("C-1: a jump of the clock tells the day's name", () => {
    expect(eventParts({ id: 1, time_ms: 2, type: "clock.jump", day: 3, hour: 14, minute: 5, speed: 60 }, regionName)).toEqual([
        { label: "to", text: "Tue. 14:05" },
        { label: "speed", text: "60" },
    ]);
});

it("a first attempt, and an answer given at once, are not worth a word", () => {
    const offered = { id: 1, time_ms: 2, type: "match.offered" };
    expect(eventParts({ ...offered, type: "match.refused", seconds: 0 }, regionName)).toEqual([]);
    expect(eventParts({ ...offered, attempt: 1 }, regionName)).toEqual([]);
    expect(eventParts({ ...offered, attempt: 2 }, regionName)).toEqual([{ label: "attempt", text: "2" }]);
});

it("an unknown type shows its own name", () => {
    const named = (type: string) => eventTitle({ id: 1, time_ms: 1, type });
    expect(named("server.offline")).toBe("Server offline");
    expect(named("comet.seen")).toBe("comet.seen");
});

it("draining and its end are told apart", () => {
    const draining = { id: 1, time_ms: 1, type: "server.draining", server_id: 3 };
    expect(eventTitle({ ...draining, draining: true })).toBe("Server draining");
    expect(eventTone({ ...draining, draining: true })).toBe("warn");
    expect(eventTitle({ ...draining, draining: false })).toBe("Server takes matches again");
    expect(eventTone({ ...draining, draining: false })).toBe("plain");
});

it("the everyday course of matches is not notable", () => {
    const notable = ["server.offline", "match.aborted", "match.refused", "server.refused", "matchmaker.refused", "brake.on", "operator.action"];
    for (const type of notable) expect(isNotable({ id: 1, time_ms: 1, type })).toBe(true);
    for (const type of ["match.started", "player.login", "match.ended"]) expect(isNotable({ id: 1, time_ms: 1, type })).toBe(false);
});

it("O-2: servers, lobbies and players are links to what happened to them", () => {
    const parts = eventParts({ id: 1, time_ms: 2, type: "x", server_id: 1, lobby_id: 2, player_id: 3 }, regionName);
    expect(parts.map((part) => part.href)).toEqual(["#/servers/1", "#/matches/2", "#/events?player=3"]);
});
