import { expect, it } from "vitest";
import { eventParts, eventTitle, eventTone, isNotable } from "./event_text";

const regionName = (id: number) => (id === 2 ? "EU" : `region ${id}`);

it("O-2: an event says what it is about first, then the rest, and names its region", () => {
    const parts = eventParts(
        { id: 1, time_ms: 2, type: "match.aborted", reason: "Server left", region: 2, lobby_id: 7, server_id: 12, extra: true },
        regionName,
    );
    expect(parts).toEqual([
        { label: "server", text: "12", server: 12 },
        { label: "lobby", text: "7" },
        { label: "region", text: "EU" },
        { label: "reason", text: "Server left" },
        { label: "extra", text: "true" },
    ]);
});

it("fractions have as many digits as a person wants", () => {
    expect(eventParts({ id: 1, time_ms: 2, type: "match.allocated", seconds: 0.011077710000001 }, regionName)).toEqual([
        { label: "seconds", text: "0.011" },
    ]);
});

it("leaves out what is empty and what is asked to be", () => {
    expect(eventParts({ id: 1, time_ms: 2, type: "match.ended", reason: "", lobby_id: null, server_id: 3 }, regionName, "server_id")).toEqual([]);
});

it("fault 70: hostile fields are text, and a field named server that is no number is no link", () => {
    const [part] = eventParts({ id: 1, time_ms: 2, type: "player.login", server_id: "\u001b<b>" }, regionName);
    expect(part).toEqual({ label: "server", text: "␛<b>" });
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
    const notable = ["server.offline", "match.aborted", "match.refused", "brake.on", "operator.action"];
    for (const type of notable) expect(isNotable({ id: 1, time_ms: 1, type })).toBe(true);
    for (const type of ["match.started", "player.login", "match.ended"]) expect(isNotable({ id: 1, time_ms: 1, type })).toBe(false);
});
