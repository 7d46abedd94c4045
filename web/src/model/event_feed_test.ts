import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { FleetEvent } from "../api/shapes";
import { EVENTS_MAX, EventFeed, isOfKind, NOTABLE, PUBLISH_EVERY_MS, typesOf } from "./event_feed";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const event = (id: number, time_ms = id * 10): FleetEvent => ({ id, time_ms, type: "match.ready" });
const ids = (feed: EventFeed) => feed.shown.value.map((each) => each.id);

it("shows the newest first, a few times a second", () => {
    const feed = new EventFeed();
    feed.add([event(1), event(2)]);
    feed.add([event(3)]);
    expect(ids(feed)).toEqual([]);
    vi.advanceTimersByTime(PUBLISH_EVERY_MS);
    expect(ids(feed)).toEqual([3, 2, 1]);
});

it("O-2: what a resume repeats is there once", () => {
    const feed = new EventFeed();
    feed.add([event(1), event(2)]);
    feed.add([event(2), event(3)]);
    vi.advanceTimersByTime(PUBLISH_EVERY_MS);
    expect(ids(feed)).toEqual([3, 2, 1]);
});

it("takes what happened before and in between, whatever came first", () => {
    const feed = new EventFeed();
    feed.add([event(10), event(13)]);
    feed.addPast([event(12), event(11), event(10), event(9), event(8)]);
    vi.advanceTimersByTime(PUBLISH_EVERY_MS);
    expect(ids(feed)).toEqual([13, 12, 11, 10, 9, 8]);
});

it("N-11: takes events of several cells, each with numbers of its own, once and by time", () => {
    const of = (cell: string, id: number, time_ms: number): FleetEvent => ({ ...event(id, time_ms), cell });
    const feed = new EventFeed();
    feed.add([of("eu", 500, 1000), of("us", 7, 1001), of("eu", 502, 1002)]);
    feed.add([of("us", 7, 1001), of("us", 9, 1003)]);
    vi.advanceTimersByTime(PUBLISH_EVERY_MS);
    expect(ids(feed)).toEqual([9, 502, 7, 500]);
    feed.addPast([of("eu", 498, 900), of("us", 5, 950)]);
    vi.advanceTimersByTime(PUBLISH_EVERY_MS);
    expect(ids(feed)).toEqual([9, 502, 7, 500, 5, 498]);
});

it("begins anew when the daemon numbers from the start again", () => {
    const feed = new EventFeed();
    feed.add([event(500, 1000)]);
    feed.add([event(1, 2000), event(2, 2001)]);
    vi.advanceTimersByTime(PUBLISH_EVERY_MS);
    expect(ids(feed)).toEqual([2, 1]);
});

it("keeps the newest up to its limit", () => {
    const feed = new EventFeed();
    feed.add(Array.from({ length: EVENTS_MAX + 3 }, (_, at) => event(at + 1)));
    vi.advanceTimersByTime(PUBLISH_EVERY_MS);
    expect(ids(feed)).toHaveLength(EVENTS_MAX);
    expect(ids(feed).at(-1)).toBe(4);
});

it("knows an event's kind, and the types to ask for", () => {
    const ready = event(1);
    const aborted = { ...ready, type: "match.aborted" };
    expect(["", "match", "server", NOTABLE].map((kind) => isOfKind(ready, kind))).toEqual([true, true, false, false]);
    expect(["", "match", "server", NOTABLE].map((kind) => isOfKind(aborted, kind))).toEqual([true, true, false, true]);
    expect([typesOf(""), typesOf("match")]).toEqual(["", "match."]);
    expect(typesOf(NOTABLE).split(",")).toContain("server.");
});
