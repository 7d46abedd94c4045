// The dashboard for everybody: by keyboard, by ear, on a phone, in light and dark. A pretended fleet (web/mock) fills it,
// with names and reasons of every kind.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults, RunOnly, RunOptions } from "axe-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Driver, PHONE, useTab } from "./browser";

const axe = readFileSync(createRequire(new URL("../package.json", import.meta.url)).resolve("axe-core/axe.min.js"), "utf8");
const EVERYTHING: RunOnly = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
const CONTRAST: RunOnly = { type: "rule", values: ["color-contrast"] };
const VIEWS = ["", "servers", "servers/1", "matches", "matches/1000", "players", "hosts", "matchmakers", "events?kind=server", "events?server=1", "cluster", "access"];

const tab = useTab();

// What the checker of accessibility finds wrong with the page as it stands.
async function violations(runOnly: RunOnly): Promise<string[]> {
    await tab.page.evaluate(axe); // not as a script of the page: its content policy would refuse it
    const found = await tab.page.evaluate(async (rules: RunOnly) => {
        const checker = (globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }).axe;
        return (await checker.run({ runOnly: rules, resultTypes: ["violations"] })).violations;
    }, runOnly);
    return found.map(({ id, impact, help, nodes }) => `${impact} ${id}: ${help}: ${nodes.map((node) => node.html).join(" | ").slice(0, 400)}`);
}

describe("the page for everybody", () => {
    let driver: Driver;
    beforeAll(async () => {
        driver = await Driver.mock("--servers", "20", "--players", "20", "--rate", "4", "--hostile");
    });
    afterAll(() => driver?.end());

    it("O-2: a checker of accessibility finds nothing wrong in any view, nor with the colours in the dark", async () => {
        for (const view of VIEWS) {
            await tab.page.emulateMedia({ colorScheme: "light" });
            await tab.page.goto(`${driver.url}#/${view}`);
            await tab.page.locator("main table, .events").first().waitFor();
            expect(await violations(EVERYTHING), view).toEqual([]);
            await tab.page.emulateMedia({ colorScheme: "dark" });
            expect(await violations(CONTRAST), `${view} in the dark`).toEqual([]);
        }
    });

    it("O-2: a dialog keeps the focus, is without fault, and gives the focus back", async () => {
        await tab.open(driver, "#/players");
        const kick = tab.page.getByRole("button", { name: /^Kick/ }).first();
        await kick.focus();
        const name = await kick.getAttribute("aria-label");
        await tab.page.keyboard.press("Enter");
        await tab.page.getByRole("dialog").waitFor();
        expect(await violations(EVERYTHING)).toEqual([]);
        const inside = new Set<string>();
        for (let times = 0; times < 8; ++times) {
            await tab.page.keyboard.press("Tab");
            const where = await tab.page.evaluate(() => {
                const focused = document.activeElement;
                return focused === document.body || focused?.closest("dialog") ? (focused?.textContent?.slice(0, 20) ?? "") : "outside";
            });
            inside.add(where);
        }
        expect(inside).not.toContain("outside");
        expect(inside).toContain("Kick the player");
        await tab.page.keyboard.press("Escape");
        await tab.page.getByRole("dialog").waitFor({ state: "hidden" });
        expect(await tab.page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe(name);
    });

    it("fits a phone of 360 pixels in every view, and every control is within reach", async () => {
        await tab.page.setViewportSize(PHONE);
        for (const view of ["", "servers", "servers/1", "matches", "players", "events", "access"]) {
            await tab.page.goto(`${driver.url}#/${view}`);
            await tab.page.getByRole("heading", { level: 1 }).waitFor();
            await tab.page.locator("table, .events").first().waitFor();
            if (view === "") await tab.chart("Per second", /succeeded: now [\d<]/).waitFor();
            await tab.shot(`phone_${view === "" ? "overview" : view.replace("/", "_")}`);
            const sideways = await tab.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            expect(sideways, view).toBe(0);
            const sticking = await tab.page.evaluate(() =>
                [...document.querySelectorAll(".panel")].flatMap((panel) => {
                    const edge = panel.getBoundingClientRect().right;
                    const parts = [...panel.querySelectorAll("button, a, input, select, td, th, p, li, canvas")];
                    return parts.filter((part) => part.getBoundingClientRect().right > edge && !part.closest(".unseen")).map((part) => part.outerHTML);
                }),
            );
            expect(sticking, view).toEqual([]);
            const outside = await tab.page.evaluate(() =>
                [...document.querySelectorAll("button, a, input, select, td, th")]
                    .filter((each) => each.getClientRects().length > 0 && !each.closest(".skip, .unseen"))
                    .filter((each) => each.getBoundingClientRect().right > innerWidth)
                    .map((each) => each.textContent),
            );
            expect(outside, view).toEqual([]);
        }
    });

    it("O-2: no view is wider than its screen, from a small tablet to a desk", async () => {
        for (const width of [701, 768, 1001, 1280]) {
            await tab.page.setViewportSize({ width, height: 900 });
            for (const view of VIEWS) {
                await tab.page.goto(`${driver.url}#/${view}`);
                await tab.page.getByRole("heading", { level: 1 }).waitFor();
                await tab.page.locator("tbody tr, .events li").first().waitFor();
                const sideways = await tab.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
                expect(sideways, `${view} at ${width}`).toBe(0);
            }
        }
    });

    it("is dark when the system is, and light again by its own switch, which is kept", async () => {
        const ground = () => tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        await tab.page.emulateMedia({ colorScheme: "light" });
        await tab.open(driver);
        await tab.seen("Regions");
        const light = await ground();
        await tab.page.emulateMedia({ colorScheme: "dark" });
        await expect.poll(ground).not.toBe(light);
        await tab.chart("Per second", /succeeded: now [\d<]/).waitFor();
        await tab.shot("overview_dark");
        await tab.page.getByLabel("Colours").selectOption("light");
        expect(await ground()).toBe(light);
        await tab.page.reload();
        await tab.seen("Regions");
        expect(await ground()).toBe(light);
        await tab.page.getByLabel("Colours").selectOption("system");
        expect(tab.complaints).toEqual([]);
    });

    it("a cursor in one chart points at the same moment in all of them, and the legends tell its figures", async () => {
        await tab.open(driver);
        await tab.chart("Per second", /succeeded: now [\d<]/).waitFor();
        const first = tab.page.locator(".chart .u-over").first();
        const { width = 0, height = 0 } = (await first.boundingBox()) ?? {};
        await first.hover({ position: { x: width - 3, y: height / 2 } });
        const charts = await tab.page.locator(".chart").count();
        await expect.poll(() => tab.page.locator(".pointed").count()).toBe(charts);
        expect(new Set(await tab.page.locator(".pointed").allTextContents()).size).toBe(1);
        await tab.page.mouse.move(1, 1);
        await expect.poll(() => tab.page.locator(".pointed").count()).toBe(0);
        expect(tab.complaints).toEqual([]);
    });

    it("can be used without a mouse, and has names for a screen reader", async () => {
        await tab.open(driver);
        await tab.seen("Regions");
        await tab.page.keyboard.press("Tab");
        expect(await tab.page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
        await tab.page.keyboard.press("Enter");
        expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe("view-title");
        await tab.page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Servers" }).focus();
        await tab.page.keyboard.press("Enter");
        await tab.page.getByRole("heading", { level: 1, name: "Servers" }).waitFor();
        expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe("view-title");
        const header = tab.page.getByRole("columnheader", { name: "Matches" });
        await header.getByRole("button").focus();
        await tab.page.keyboard.press("Enter");
        expect(await header.getAttribute("aria-sort")).toBe("ascending");
        const outline = await header.getByRole("button").evaluate((button) => getComputedStyle(button).outlineStyle);
        expect(outline).toBe("solid");
        const nameless = await tab.page.evaluate(() =>
            [...document.querySelectorAll<HTMLElement>("button, a, input, select")]
                .filter((each) => (each.textContent?.trim() || each.ariaLabel || each.closest("label")?.textContent || "") === "")
                .map((each) => each.outerHTML),
        );
        expect(nameless).toEqual([]);

        await tab.page.goto(`${driver.url}#/`);
        const chart = tab.page.getByRole("img", { name: /^Time to answer, last 30/ });
        await chart.waitFor();
        for (const landmark of ["banner", "main", "contentinfo"] as const) expect(await tab.page.getByRole(landmark).count()).toBe(1);
    });
});
