import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const sheet = readFileSync(new URL("colours.css", import.meta.url), "utf8");
const colours = new Map([...sheet.matchAll(/--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(([, name, light, dark]) => [name, [light, dark]]));

const READABLE = 4.5; // WCAG 2.2, 1.4.3: text
const VISIBLE = 3; // 1.4.11: marks, lines, edges of controls

function luminance(hex: string): number {
    const [red, green, blue] = [1, 3, 5].map((at) => {
        const value = parseInt(hex.slice(at, at + 2), 16) / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

function contrast(one: string, other: string): number {
    const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
}

describe.each(["light", "dark"])("in %s", (scheme) => {
    const colour = (name: string) => colours.get(name)?.[scheme === "light" ? 0 : 1] ?? `no colour ${name}`;
    const grounds = ["page", "surface", "raised", "bad-surface", "warn-surface"];

    it.each(["text", "muted", "accent", "bad", "warn"])("%s can be read on every ground", (name) => {
        for (const ground of grounds) expect(contrast(colour(name), colour(ground)), ground).toBeGreaterThanOrEqual(READABLE);
    });
    it("buttons can be read", () => {
        expect(contrast(colour("on-accent"), colour("accent"))).toBeGreaterThanOrEqual(READABLE);
        expect(contrast(colour("on-bad"), colour("bad"))).toBeGreaterThanOrEqual(READABLE);
    });
    it.each(["ok", "warn", "bad", "edge", "line-1", "line-2", "line-3", "line-4", "line-bad"])("%s can be seen on a panel", (name) => {
        expect(contrast(colour(name), colour("surface"))).toBeGreaterThanOrEqual(VISIBLE);
    });
});
