import { describe, expect, it } from "vitest";
import {
    ago,
    count,
    duration,
    figure,
    foreign,
    gameTime,
    measured,
    measuredJitter,
    milliseconds,
    millisecondsScale,
    momentText,
    NONE,
    percent,
    perSecond,
    reasonWords,
    roundTrip,
    share,
} from "./format";

// A space that no line ends at is a space to the reader.
const plain = (text: string) => text.replaceAll("\u00A0", " ");

describe("figures", () => {
    it("have at most three digits that mean something", () => {
        expect([0, 0.004, 0.256, 3.14159, 42.42, 99.99, 123.4, 12345.6].map((value) => plain(figure(value)))).toEqual([
            "0",
            "< 0.01",
            "0.26",
            "3.14",
            "42.4",
            "100",
            "123",
            "12,346",
        ]);
    });

    it("are a dash where nothing is known", () => {
        for (const unknown of [null, undefined, Number.NaN, Infinity]) {
            expect(figure(unknown)).toBe(NONE);
            expect(milliseconds(unknown)).toBe(NONE);
            expect(percent(unknown)).toBe(NONE);
        }
        expect(perSecond(null)).toBe(NONE);
        expect(ago(null)).toBe(NONE);
    });

    it("carry their unit", () => {
        expect(plain(milliseconds(999))).toBe("999 ms");
        expect(plain(milliseconds(1000))).toBe("1 s");
        expect(plain(milliseconds(2345))).toBe("2.35 s");
        expect(plain(percent(62.5))).toBe("63 %");
        expect(perSecond(2)).toBe("2/s");
        expect(count(10_000)).toBe("10,000");
    });

    it("of a round trip not yet measured are unknown, not very fast", () => {
        expect(measured(0)).toBeNull();
        expect(measured(null)).toBeNull();
        expect(measured(0.04)).toBe(0.04);
    });

    it("of nothing at all are 0, where 0 is a figure", () => {
        expect(plain(percent(0))).toBe("0 %");
        expect(measuredJitter(0, 0.04)).toBe(0);
        expect(plain(roundTrip(measuredJitter(0, 0.04)))).toBe("0.00 ms");
        expect(measuredJitter(0, 0)).toBeNull();
        expect(measuredJitter(null, 3)).toBeNull();
    });

    it("of round trips stay in one unit, with decimals below each other", () => {
        expect([0.004, 0.01, 6.9, 11.654, 99.99, 100, 2345.6].map((ms) => plain(roundTrip(ms)))).toEqual([
            "< 0.01 ms",
            "0.01 ms",
            "6.90 ms",
            "11.65 ms",
            "99.99 ms",
            "100 ms",
            "2,346 ms",
        ]);
        expect(roundTrip(null)).toBe(NONE);
    });

    it("of one scale share the unit of the highest", () => {
        expect(millisecondsScale([0, 2500, 5000]).map(plain)).toEqual(["0 s", "2.5 s", "5 s"]);
        expect(millisecondsScale([0, 500, 1000]).map(plain)).toEqual(["0 s", "0.5 s", "1 s"]);
        expect(millisecondsScale([0, 250, 500]).map(plain)).toEqual(["0 ms", "250 ms", "500 ms"]);
    });

    it("make no share of nothing", () => {
        expect(share(1, 4)).toBe(25);
        expect(share(0, 0)).toBeNull();
    });
});

it("durations have their two largest units", () => {
    expect([0, 999, 59_999, 60_000, 3_599_999, 3_600_000, 86_400_000, 360_000_000, -5].map((ms) => plain(duration(ms)))).toEqual([
        "0 s",
        "0 s",
        "59 s",
        "1 min 0 s",
        "59 min 59 s",
        "1 h 0 min",
        "1 d 0 h",
        "4 d 4 h",
        "0 s",
    ]);
});

it("a moment of another day has its day", () => {
    const at = (day: number, hour: number) => new Date(2026, 10, day, hour, 4, 5).getTime();
    expect(momentText(at(16, 0), at(16, 23))).toBe("00:04:05");
    expect(plain(momentText(at(15, 23), at(16, 0)))).toBe("15 Nov 23:04:05");
    expect(plain(momentText(new Date(2025, 10, 16, 3, 4, 5).getTime(), at(16, 3)))).toBe("16 Nov 03:04:05");
});

it("C-1: the world clock's days run from 1, Sunday", () => {
    expect(gameTime({ day: 1, hour: 0, minute: 5 })).toBe("Sun. 00:05");
    expect(gameTime({ day: 7, hour: 23, minute: 59 })).toBe("Sat. 23:59");
});

it("A-13: a reason by its code reads as a sentence does", () => {
    expect(reasonWords("no_servers_available")).toBe("No servers available");
    expect(reasonWords("Server busy")).toBe("Server busy");
});

describe("fault 70: text that somebody else chose", () => {
    it("stays as it is when every character can be seen, markup too", () => {
        expect(foreign("<img src=x onerror=alert(1)>")).toBe("<img src=x onerror=alert(1)>");
        expect(foreign("Ünïcødé 玩家")).toBe("Ünïcødé 玩家");
    });

    it("shows controls, and what would turn or hide its neighbours", () => {
        expect(foreign("\u001b[31mred")).toBe("␛[31mred");
        expect(foreign("a\nb")).toBe("a␊b");
        expect(foreign("\u202Egnp.exe")).toBe("\\u202egnp.exe");
        expect(foreign("a\u200Bb\u007F")).toBe("a\\u200bb\\u007f");
    });

    it("is cut at its limit", () => {
        expect(foreign("abcdef", 6)).toBe("abcdef");
        expect(foreign("abcdefg", 6)).toBe("abcdef…");
    });
});
