import { expect, it } from "vitest";
import { scaleLines } from "./chart_scale";

it("a scale begins at 0 and ends at or above the highest figure, in round steps", () => {
    expect(scaleLines(0, 100)).toEqual([0, 25, 50, 75, 100]);
    expect(scaleLines(100, 100)).toEqual([0, 25, 50, 75, 100]);
    expect(scaleLines(101, 100)).toEqual([0, 50, 100, 150]);
    expect(scaleLines(3, 4)).toEqual([0, 1, 2, 3, 4]);
    expect(scaleLines(171, 4)).toEqual([0, 50, 100, 150, 200]);
    expect(scaleLines(242, 1)).toEqual([0, 100, 200, 300]);
    expect(scaleLines(12_000, 1)).toEqual([0, 5_000, 10_000, 15_000]);
});

it("a whole limit that is not passed is the top, divided evenly", () => {
    expect(scaleLines(3, 12)).toEqual([0, 3, 6, 9, 12]);
    expect(scaleLines(10, 10)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(scaleLines(0, 6)).toEqual([0, 2, 4, 6]);
    expect(scaleLines(0, 14)).toEqual([0, 7, 14]);
    expect(scaleLines(0, 7)).toEqual([0, 7]);
    expect(scaleLines(13, 12)).toEqual([0, 5, 10, 15]);
});

it("small figures have small steps, without the dust of binary fractions", () => {
    expect(scaleLines(0.27, 0.1)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(scaleLines(0.1, 0.1)).toEqual([0, 0.025, 0.05, 0.075, 0.1]);
    expect(scaleLines(1.9, 1)).toEqual([0, 0.5, 1, 1.5, 2]);
});

it("what comes in whole numbers has whole steps", () => {
    expect(scaleLines(8, 4)).toEqual([0, 2.5, 5, 7.5, 10]);
    expect(scaleLines(8, 4, true)).toEqual([0, 5, 10]);
    expect(scaleLines(1, 4, true)).toEqual([0, 1, 2, 3, 4]);
    expect(scaleLines(2, 1, true)).toEqual([0, 1, 2, 3]);
    expect(scaleLines(90, 4, true)).toEqual([0, 25, 50, 75, 100]);
    for (let highest = 1; highest < 1e6; highest = Math.ceil(highest * 1.37)) {
        const lines = scaleLines(highest, 1, true);
        expect(lines.every(Number.isInteger), String(highest)).toBe(true);
        expect(lines.length, String(highest)).toBeLessThanOrEqual(5);
    }
});

it("never has more than four steps, and always room for the highest", () => {
    for (let highest = 0.001; highest < 1e7; highest *= 1.37) {
        const lines = scaleLines(highest, 0.001);
        expect(lines.length, String(highest)).toBeLessThanOrEqual(5);
        expect(lines.at(-1), String(highest)).toBeGreaterThanOrEqual(highest);
    }
});
