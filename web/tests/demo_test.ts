// The dashboard of `muster demo`: all that an operator is to see at a glance, of a real daemon with a fleet that plays.

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PHONE, program, useTab } from "./browser";

const tab = useTab();

class Demo {
    private constructor(
        private readonly process: ChildProcess,
        readonly url: string,
    ) {}

    static async start(muster: string): Promise<Demo> {
        const child = spawn(muster, ["demo", "--seed", "7"], { stdio: ["ignore", "pipe", "inherit"] });
        const url = await new Promise<string>((resolve, reject) => {
            createInterface({ input: child.stdout }).on("line", (line) => {
                const found = /the page +(http:\S+)/.exec(line);
                if (found !== null) resolve(found[1] ?? "");
            });
            child.once("exit", (code) => reject(new Error(`the demo ended with ${code}`)));
        });
        return new Demo(child, url);
    }

    async end(): Promise<number | null> {
        const ended = new Promise<number | null>((resolve) => this.process.once("exit", resolve));
        this.process.kill("SIGINT");
        return ended;
    }
}

describe.skipIf(program === undefined)("the page of a fleet at play", () => {
    let demo: Demo;
    beforeAll(async () => {
        demo = await Demo.start(program ?? "");
    });
    afterAll(async () => {
        expect(await demo?.end()).toBe(0);
    });

    it("O-2: has all of it at a glance, and moves", async () => {
        await tab.open(demo);
        await tab.page.getByRole("region", { name: "Health" }).filter({ hasText: /OK|Warning|Critical/ }).waitFor();
        await tab.row("EU").filter({ hasText: /\d available/ }).filter({ hasText: /\d+ of \d+ \(\d+\s%\)/ }).waitFor();
        await tab.chart("Per second", /succeeded: now [\d.]*[1-9]/).waitFor();
        await tab.chart("Time to answer", /p50: now [\d.]+.*p95: now [\d.]+.*p99: now [\d.]+/).waitFor();
        await tab.chart("Failures by reason").waitFor();
        await tab.chart("Matches on the fleet", /in use: now [1-9].*room for: now [1-9]/).waitFor();
        await tab.chart("Connected", /connected: now [1-9].*idle: now \d/).waitFor();
        await tab.chart("Pass time", /average: now [\d<].*longest: now \d/).waitFor();
        await tab.page.getByRole("table", { name: /^Latency, .* \d+ pings$/ }).waitFor();
        await tab.page.getByRole("listitem").filter({ hasText: "Server registered" }).first().waitFor();

        const clock = tab.page.locator(".big");
        const before = await clock.textContent();
        await expect.poll(() => clock.textContent(), { timeout: 60_000 }).not.toBe(before);
        await tab.page.waitForTimeout(3_000); // so that the pictures have something to show
        await tab.shot("demo_overview_light");
        await tab.page.emulateMedia({ colorScheme: "dark" });
        await tab.page.waitForTimeout(500);
        await tab.shot("demo_overview_dark");
        await tab.page.setViewportSize(PHONE);
        await tab.page.waitForTimeout(500);
        await tab.shot("demo_overview_phone");
        expect(tab.complaints).toEqual([]);
    });

    it("O-2: shows servers, one of them with its heartbeats and load over time, matches, players and events", async () => {
        await tab.open(demo, "#/servers?status=available");
        await tab.row("available").nth(5).waitFor();
        await tab.shot("demo_servers");
        await tab.page.getByRole("rowheader").getByRole("link").first().click();
        await tab.chart("Silence before each heartbeat", /silent for: now \d/).waitFor();
        await tab.chart("Matches, of \\d+", /matches: now \d/).waitFor();
        await tab.chart("CPU and memory", /CPU: now \d.*memory: now \d/).waitFor();
        await tab.page.waitForTimeout(2_000);
        await tab.shot("demo_server");
        await tab.page.getByRole("link", { name: "Matches", exact: true }).click();
        await tab.row("started").first().waitFor();
        await tab.shot("demo_matches");
        await tab.page.getByRole("link", { name: "Players", exact: true }).click();
        await tab.row("active").first().waitFor();
        await tab.shot("demo_players");
        await tab.page.getByRole("link", { name: "Events", exact: true }).click();
        await tab.page.getByRole("listitem").filter({ hasText: /Match started|matches started/ }).first().waitFor();
        await tab.shot("demo_events");
        expect(tab.complaints).toEqual([]);
    });
});
