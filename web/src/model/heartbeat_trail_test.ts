import { expect, it } from "vitest";
import { HeartbeatTrail, POINTS_MAX } from "./heartbeat_trail";

it("F-2: a heartbeat between two looks shows with the silence before it", () => {
    const trail = new HeartbeatTrail();
    trail.push(10_000, 4_000); // the last one came at 6 s
    trail.push(15_000, 9_000);
    trail.push(20_000, 4_000); // another at 16 s
    expect(trail.columns()).toEqual({
        seconds: [10, 15, 16, 16.001, 20],
        silence: [4_000, 9_000, 10_000, 0, 4_000],
    });
});

it("the same heartbeat is one, though its time is told with some play", () => {
    const trail = new HeartbeatTrail();
    trail.push(10_000, 1_000);
    trail.push(11_000, 1_600);
    trail.push(12_000, 2_500);
    expect(trail.columns().silence).toEqual([1_000, 1_600, 2_500]);
});

it("a silent server's line climbs", () => {
    const trail = new HeartbeatTrail();
    for (let second = 0; second <= 40; ++second) trail.push(second * 1_000, second * 1_000);
    expect(trail.columns().silence.at(-1)).toBe(40_000);
    expect(trail.columns().silence).toHaveLength(41);
});

it("keeps its last points and no more", () => {
    const trail = new HeartbeatTrail();
    for (let at = 0; at < POINTS_MAX + 7; ++at) trail.push(at * 1_000, 0);
    expect(trail.columns().seconds).toHaveLength(POINTS_MAX);
    expect(trail.columns().seconds.at(-1)).toBe(POINTS_MAX + 6);
});

it("O-2: a page that was asleep makes no silence of it, but one that a server kept is told", () => {
    const trail = new HeartbeatTrail();
    trail.push(10_000, 1_000);
    trail.push(70_000, 2_000); // of the heartbeats since, only the last is known
    expect(trail.columns()).toEqual({ seconds: [10, 10.001, 70], silence: [1_000, null, 2_000] });
    trail.push(130_000, 62_000); // asleep again, and no heartbeat since
    expect(trail.columns().silence).toEqual([1_000, null, 2_000, 62_000]);
});
