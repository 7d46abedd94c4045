import { expect, it } from "vitest";
import { readRoute, routeTo, routeToEvents, routeToMatch, routeToServer } from "./route";

it("an address leads to its view and back", () => {
    expect(readRoute(routeTo("matches", { state: "started", server: 12, q: "" }))).toEqual({
        view: "matches",
        server: null,
        lobby: null,
        filter: { state: "started", server: "12" },
    });
    expect(readRoute(routeToServer(12))).toMatchObject({ view: "servers", server: 12 });
    expect(readRoute(routeToMatch(7))).toMatchObject({ view: "matches", server: null, lobby: 7 });
    expect(readRoute(routeToEvents({ player: 3 }))).toMatchObject({ view: "events", filter: { player: "3" } });
    expect(routeTo("overview")).toBe("#/");
});

it("whatever else stands there leads to the overview, or to no server", () => {
    for (const hash of ["", "#", "#/", "#/nothing", "#/__proto__", "#view-title"]) expect(readRoute(hash).view).toBe("overview");
    for (const hash of ["#/servers/", "#/servers/x", "#/servers/-1", "#/servers/1e3", "#/matches/3"]) expect(readRoute(hash).server).toBeNull();
});

it("a filter may hold any text", () => {
    const text = "a&b=c?#<>";
    expect(readRoute(routeTo("players", { q: text })).filter.q).toBe(text);
});
