import { expect, it } from "vitest";
import type { FleetEvent } from "../api/shapes";
import { FOLD_GAP_MS, folded, shared } from "./event_fold";
import { eventParts, manyTitle } from "./event_text";

let nextId = 1;
// Newest first, as a list shows them.
function happened(...given: Array<Partial<FleetEvent>>): FleetEvent[] {
    return given.map((fields) => ({ id: nextId++, time_ms: 1_000, type: "server.offline", ...fields })).reverse();
}
const offline = (region: number, count: number, time_ms = 1_000) =>
    Array.from({ length: count }, (_, server_id) => ({ region, server_id, time_ms, reason: "Connection lost" }));

it("O-2: equal events fold, each region by itself, though they happened mixed", () => {
    const eu = offline(2, 833);
    const use = offline(0, 833);
    const entries = folded(happened(...eu.flatMap((each, at) => [each, use[at] ?? {}])));
    expect(entries.map((entry) => (entry.kind === "many" ? entry.events.length : 1))).toEqual([833, 833]);
    const [, second] = entries;
    if (second?.kind !== "many") throw new Error("not folded");
    const same = shared(second.events);
    expect(manyTitle(same, 833)).toBe("833 servers offline");
    expect(eventParts(same, (id) => (id === 2 ? "EU" : "USE"))).toEqual([
        { label: "region", text: "EU" },
        { label: "reason", text: "Connection lost" },
    ]);
});

it("two are told one by one, and so are those with other reasons", () => {
    expect(folded(happened(...offline(2, 2))).map(({ kind }) => kind)).toEqual(["one", "one"]);
    const other = offline(2, 3).map((each, at) => ({ ...each, reason: `reason ${at}` }));
    expect(folded(happened(...other)).map(({ kind }) => kind)).toEqual(["one", "one", "one"]);
});

it("what happened much later is another happening", () => {
    const entries = folded(happened(...offline(2, 4, 0), ...offline(2, 5, FOLD_GAP_MS + 1)));
    expect(entries.map((entry) => (entry.kind === "many" ? entry.events.length : 1))).toEqual([5, 4]);
});

it("what an operator did is told each time", () => {
    const drains = happened(...[1, 2, 3].map((server_id) => ({ type: "operator.action", server_id })));
    expect(folded(drains).every(({ kind }) => kind === "one")).toBe(true);
    const draining = happened(...[1, 2, 3].map((server_id) => ({ type: "server.draining", draining: false, server_id })));
    const [fold] = folded(draining);
    expect(fold?.kind).toBe("many");
    expect(manyTitle(draining[0] as FleetEvent, 3)).toBe("3 servers take matches again");
});

it("nothing is lost or shown twice by folding", () => {
    const mixed = happened(...offline(2, 5), { type: "brake.on", region: 2 }, ...offline(0, 2), { type: "match.aborted" }, ...offline(2, 5, 1_500));
    const all = folded(mixed).flatMap((entry) => (entry.kind === "one" ? [entry.event] : entry.events));
    expect(all.map(({ id }) => id).sort()).toEqual(mixed.map(({ id }) => id).sort());
});
