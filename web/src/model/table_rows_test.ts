import { describe, expect, it } from "vitest";
import { addressKey, finder, pageOf, pressed, sorted } from "./table_rows";

describe("order", () => {
    it("keeps equal rows as they were, both ways", () => {
        const rows = [
            { id: 1, load: 5 },
            { id: 2, load: 3 },
            { id: 3, load: 5 },
        ];
        expect(sorted(rows, (row) => row.load, false).map((row) => row.id)).toEqual([2, 1, 3]);
        expect(sorted(rows, (row) => row.load, true).map((row) => row.id)).toEqual([1, 3, 2]);
    });

    it("puts what is not known last, both ways", () => {
        expect(sorted([null, 2, 1], (value) => value, false)).toEqual([1, 2, null]);
        expect(sorted([null, 2, 1], (value) => value, true)).toEqual([2, 1, null]);
    });

    it("compares numbers as numbers and text as text", () => {
        expect(sorted([10, 9, 100], (value) => value, false)).toEqual([9, 10, 100]);
        expect(sorted(["b", "a", 5], (value) => value, false)).toEqual([5, "a", "b"]);
    });

    it("leaves the given rows alone", () => {
        const rows = [2, 1];
        sorted(rows, (value) => value, false);
        expect(rows).toEqual([2, 1]);
    });

    it("turns at the second press on the same header", () => {
        const first = pressed({ column: "id", descending: false }, "load");
        expect(first).toEqual({ column: "load", descending: false });
        expect(pressed(first, "load")).toEqual({ column: "load", descending: true });
    });
});

describe("filter", () => {
    it("wants every word somewhere, in any case", () => {
        expect(finder("EU 10.2")(7, "10.2.0.7:27015", "eu")).toBe(true);
        expect(finder("eu 10.3")(7, "10.2.0.7:27015", "eu")).toBe(false);
        expect(finder("  ")(7)).toBe(true);
    });

    it("finds no word across two texts", () => {
        expect(finder("712")(7, 12)).toBe(false);
    });
});

describe("pages", () => {
    const rows = Array.from({ length: 101 }, (_, at) => at);

    it("holds the last, shorter page", () => {
        expect(pageOf(rows, 2, 50)).toEqual({ rows: [100], page: 2, pages: 3, first: 101, last: 101 });
    });

    it("stays within what there is when rows go", () => {
        expect(pageOf(rows.slice(0, 50), 2, 50)).toMatchObject({ page: 0, pages: 1, first: 1, last: 50 });
        expect(pageOf([], 3, 50)).toEqual({ rows: [], page: 0, pages: 1, first: 0, last: 0 });
    });
});

it("addresses are ordered by their numbers, then by their port", () => {
    const ordered = (...addresses: Array<[string, number]>) => addresses.map(([ip, port]) => addressKey(ip, port)).every((key, at, all) => at === 0 || (all[at - 1] ?? "") < key);
    expect(ordered(["10.0.0.9", 1], ["10.0.0.10", 1])).toBe(true);
    expect(ordered(["9.255.0.1", 1], ["10.0.0.1", 1])).toBe(true);
    expect(ordered(["10.0.0.1", 900], ["10.0.0.1", 27015])).toBe(true);
    expect(ordered(["10.0.0.10", 1], ["10.0.0.9", 1])).toBe(false);
});
