// The dashboard in a real Chromium: built, served under its content policy, and driven as an operator would.
//
// MUSTER_PAGE_PROGRAM names the daemon (tests/web_driver.py makes its peers); without it, the mock of web/mock stands in.
// What needs ten thousand servers is always shown on the mock, with the page of MUSTER_PAGE_DIST (web/dist).
// Screenshots go to MUSTER_PAGE_ARTEFACTS (build/web_page).

import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const artefacts = process.env.MUSTER_PAGE_ARTEFACTS ?? join(root, "build", "web_page");
const dist = process.env.MUSTER_PAGE_DIST ?? join(root, "web", "dist");
const mock = ["node", join(root, "web", "mock", "main.mjs"), "--port", "0", "--dist", dist];
const driven = (program: string) => ["python3", join(root, "tests", "web_driver.py"), program];
const PATIENCE_MS = 20_000; // what only a broken page needs
const HOSTILE = "<img src=x onerror=alert(1)>";
const PHONE = { width: 360, height: 740 };
const DESK = { width: 1440, height: 1000 };

// The daemon's side: a program that prints its address and takes commands, a line each.
class Driver {
    url = "";
    token = "";
    private readonly answers: Array<(line: string) => void> = [];
    private readonly early: string[] = [];
    private readonly lines: Interface;

    private constructor(private readonly process: ChildProcess) {
        this.lines = createInterface({ input: process.stdout! });
        this.lines.on("line", (line) => {
            const take = this.answers.shift();
            if (take === undefined) this.early.push(line);
            else take(line);
        });
        process.on("exit", (code) => {
            for (const take of this.answers.splice(0)) take(JSON.stringify({ error: `The driver ended with ${code}` }));
        });
    }

    static async start(command: string[]): Promise<Driver> {
        const [program = "", ...words] = command;
        const driver = new Driver(spawn(program, words, { cwd: root, stdio: ["pipe", "pipe", "inherit"] }));
        const hello = await driver.answer();
        driver.url = String(hello.url);
        driver.token = String(hello.token);
        return driver;
    }

    async tell(command: string): Promise<Record<string, unknown>> {
        this.process.stdin!.write(`${command}\n`);
        return this.answer();
    }

    async end(): Promise<void> {
        if (this.process.exitCode !== null) return;
        const ended = new Promise((resolve) => this.process.once("exit", resolve));
        this.process.stdin!.end();
        await ended;
    }

    private async answer(): Promise<Record<string, unknown>> {
        const line = this.early.shift() ?? (await new Promise<string>((resolve) => this.answers.push(resolve)));
        const answer = JSON.parse(line) as Record<string, unknown>;
        if ("error" in answer) throw new Error(String(answer.error));
        return answer;
    }
}

const profile = mkdtempSync(join(tmpdir(), "muster-page-"));
let browser: BrowserContext;

beforeAll(async () => {
    mkdirSync(artefacts, { recursive: true });
    browser = await chromium.launchPersistentContext(profile, {
        executablePath: process.env.MUSTER_PAGE_CHROMIUM ?? "/usr/bin/chromium",
        headless: true,
        viewport: DESK,
        args: [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ],
    });
    browser.setDefaultTimeout(PATIENCE_MS);
});

afterAll(async () => {
    await browser?.close();
    rmSync(profile, { recursive: true, force: true });
});

// A page that remembers whatever went wrong in it.
let page: Page;
let complaints: string[];

beforeEach(async () => {
    page = await browser.newPage();
    complaints = [];
    page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => {
        complaints.push(`a script ran: ${dialog.message()}`);
        void dialog.dismiss();
    });
});

afterEach(() => page.close());

const open = (driver: Driver, route = "") => page.goto(`${driver.url}${route}`);
const shot = (name: string) => page.screenshot({ path: join(artefacts, `${name}.png`), fullPage: true });
const seen = (text: string | RegExp) => page.getByText(text).first().waitFor();
const row = (name: string) => page.getByRole("row").filter({ hasText: name });

// Answers the question for the admin token, where the daemon has one.
async function sign(driver: Driver): Promise<void> {
    if (driver.token === "") return;
    await page.getByRole("dialog").getByLabel("Token").fill(driver.token);
    await page.getByRole("dialog").getByRole("button", { name: "Enter" }).click();
}

async function sideways(): Promise<number> {
    return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

describe("the page and its daemon", () => {
    let driver: Driver;
    beforeAll(async () => {
        const program = process.env.MUSTER_PAGE_PROGRAM;
        driver = await Driver.start(program === undefined ? [...mock, "--token", "a-token"] : driven(program));
    });
    afterAll(() => driver?.end());

    it("O-2: loads without a complaint, says how the whole is, and asks nobody else for anything", async () => {
        const asked = new Set<string>();
        page.on("request", (request) => asked.add(new URL(request.url()).origin));
        const answer = await open(driver);
        expect(answer?.headers()["content-security-policy"]).toMatch(/default-src '(self|none)'/);
        await page.getByRole("region", { name: "State of the whole" }).filter({ hasText: /OK|Warning|Critical/ }).waitFor();
        await page.getByRole("heading", { name: "Regions" }).waitFor();
        await page.getByRole("row").filter({ hasText: "EU" }).waitFor();
        await page.waitForTimeout(3_000); // a few readings, so that the charts have something to draw
        await shot("overview_light");
        expect(complaints).toEqual([]);
        expect([...asked]).toEqual([new URL(driver.url).origin]);
    });

    it("O-2: shows a server that joins, and drains it at a click", async () => {
        await open(driver, "#/servers");
        await page.getByRole("table").waitFor();
        const { server } = await driver.tell("join");
        await page.getByLabel("Find").fill(String(server));
        const drain = page.getByRole("button", { name: `Drain server ${server}`, exact: true });
        await drain.waitFor();
        await drain.click();
        await sign(driver);
        await page.getByRole("button", { name: `Undrain server ${server}`, exact: true }).waitFor();
        await row(String(server)).filter({ hasText: "draining" }).first().waitFor();
        await shot("servers_draining");

        await page.getByRole("link", { name: String(server), exact: true }).click();
        await page.getByRole("heading", { name: `Server ${server}`, exact: true }).waitFor();
        await seen("draining (by operator)");
        await page.getByRole("button", { name: "Undrain" }).click();
        await page.getByRole("button", { name: "Drain server" }).waitFor();
        await seen("Server registered");
        await shot("server");
        expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
    });

    it("O-2: shows a match that was allocated, and aborts it once the operator has said so twice", async () => {
        await driver.tell("join");
        const { lobby } = await driver.tell("match");
        await open(driver, `#/matches?q=${lobby}`);
        await page.getByRole("button", { name: `Abort the match of lobby ${lobby}`, exact: true }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Reason").fill("Cheating");
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "hidden" });
        await page.getByRole("button", { name: `Abort the match of lobby ${lobby}`, exact: true }).click();
        await dialog.getByLabel("Reason").fill("Wrong map");
        await dialog.getByRole("button", { name: "Abort the match" }).click();
        await sign(driver);
        await row(String(lobby)).filter({ hasText: "aborted" }).filter({ hasText: "Wrong map" }).first().waitFor();
        expect(await page.getByRole("button", { name: `Abort the match of lobby ${lobby}`, exact: true }).count()).toBe(0);
        await shot("match_aborted");
        expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
    });

    it("fault 70: a hostile player name is text wherever it shows", async () => {
        await open(driver, "#/events?q=onerror");
        await seen("Live");
        const { player } = await driver.tell(`player ${HOSTILE}`);
        await page.getByRole("listitem").filter({ hasText: HOSTILE }).first().waitFor();
        await page.goto(`${driver.url}#/players?q=onerror`);
        await row(HOSTILE).waitFor();
        await shot("players_hostile");
        await page.getByRole("button", { name: `Kick ${HOSTILE}` }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByText(`Kick ${HOSTILE}?`).waitFor();
        await shot("kick_asks_first");
        expect(await page.locator("img").count()).toBe(0);

        await dialog.getByRole("button", { name: "Leave it" }).click();
        expect(await row(HOSTILE).count()).toBe(1);
        await page.getByRole("button", { name: `Kick ${HOSTILE}` }).click();
        await dialog.getByRole("button", { name: "Kick the player" }).click();
        await sign(driver);
        await seen(`${HOSTILE} was kicked`);
        await row(HOSTILE).waitFor({ state: "detached" });
        expect(player).toBeTypeOf("number");
        expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
    });

    it("fault 70: the token stays in this tab's session, and is in no address and no storage that lasts", async () => {
        await open(driver);
        await seen("World clock");
        await page.getByRole("button", { name: "Set the clock…" }).click();
        await page.getByLabel("Hour").fill("14");
        await page.getByLabel("Minute").fill("30");
        await page.getByLabel("Day").selectOption({ label: "Tue." });
        await page.getByRole("button", { name: "Set", exact: true }).click();
        await page.getByRole("dialog").getByLabel("Token").fill("not-this-one");
        await page.getByRole("dialog").getByRole("button", { name: "Enter" }).click();
        await seen("That token was not accepted.");
        await shot("token_wrong");
        await sign(driver);
        await seen(/The world clock was set to Tue\. 14:30/);
        await page.locator(".big", { hasText: /Tue\. 14:3\d/ }).waitFor();
        const kept = await page.evaluate(() => ({
            session: Object.values({ ...sessionStorage }),
            local: JSON.stringify({ ...localStorage }),
            cookies: document.cookie,
            address: location.href,
        }));
        expect(kept.session).toEqual([driver.token]);
        expect(kept.local + kept.cookies + kept.address).not.toContain(driver.token);
        await page.getByRole("button", { name: "Forget token" }).click();
        expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    });

    it("fits a phone of 360 pixels in every view, and every control is within reach", async () => {
        await page.setViewportSize(PHONE);
        await driver.tell("join");
        for (const view of ["", "servers", "matches", "players", "events"]) {
            await page.goto(`${driver.url}#/${view}`);
            await page.getByRole("heading", { level: 1 }).waitFor();
            await page.waitForTimeout(1_200);
            await shot(`phone_${view === "" ? "overview" : view}`);
            expect(await sideways(), view).toBe(0);
            const outside = await page.evaluate(() =>
                [...document.querySelectorAll("button, a, input, select, td, th")]
                    .filter((each) => each.getClientRects().length > 0 && !each.closest(".skip, .unseen"))
                    .filter((each) => each.getBoundingClientRect().right > innerWidth)
                    .map((each) => each.textContent),
            );
            expect(outside, view).toEqual([]);
        }
    });

    it("is dark when the system is, and light again by its own switch, which is kept", async () => {
        const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        await page.emulateMedia({ colorScheme: "light" });
        await open(driver);
        await seen("Regions");
        const light = await ground();
        await page.emulateMedia({ colorScheme: "dark" });
        await page.waitForTimeout(2_500);
        const dark = await ground();
        expect(dark).not.toBe(light);
        await shot("overview_dark");
        await page.getByLabel("Colours").selectOption("light");
        expect(await ground()).toBe(light);
        await page.reload();
        await seen("Regions");
        expect(await ground()).toBe(light);
        await page.getByLabel("Colours").selectOption("system");
        expect(complaints).toEqual([]);
    });

    it("can be used without a mouse, and has names for a screen reader", async () => {
        await open(driver);
        await seen("Regions");
        await page.keyboard.press("Tab");
        expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
        await page.keyboard.press("Enter");
        expect(await page.evaluate(() => document.activeElement?.id)).toBe("view-title");
        await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Servers" }).focus();
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { level: 1, name: "Servers" }).waitFor();
        expect(await page.evaluate(() => document.activeElement?.id)).toBe("view-title");
        const header = page.getByRole("columnheader", { name: "Matches" });
        await header.getByRole("button").focus();
        await page.keyboard.press("Enter");
        expect(await header.getAttribute("aria-sort")).toBe("ascending");
        const outline = await header.getByRole("button").evaluate((button) => getComputedStyle(button).outlineStyle);
        expect(outline).toBe("solid");
        const nameless = await page.evaluate(() =>
            [...document.querySelectorAll<HTMLElement>("button, a, input, select")]
                .filter((each) => (each.textContent?.trim() || each.ariaLabel || each.closest("label")?.textContent || "") === "")
                .map((each) => each.outerHTML),
        );
        expect(nameless).toEqual([]);

        await page.goto(`${driver.url}#/`);
        const chart = page.getByRole("img", { name: /^Time to answer\. p50/ });
        await chart.waitFor();
        for (const landmark of ["banner", "main", "contentinfo"] as const) expect(await page.getByRole(landmark).count()).toBe(1);
    });

    it("says since when the daemon is gone, keeps trying, and recovers by itself", async () => {
        await open(driver);
        await seen("Regions");
        await driver.tell("stop");
        await seen("Muster does not answer");
        await seen(/since\s+\d\d:\d\d:\d\d/);
        await seen("Unknown");
        await shot("daemon_gone");
        await driver.tell("start");
        await page.getByText("Muster does not answer").first().waitFor({ state: "detached" });
        await page.goto(`${driver.url}#/events`);
        await seen("Live");
        const { server } = await driver.tell("join");
        await page.getByRole("listitem").filter({ hasText: "Server registered" }).filter({ hasText: `server ${server}` }).waitFor();
        await shot("events");
    });
});

describe("a pretended fleet of 10,000 servers", () => {
    let driver: Driver;
    beforeAll(async () => {
        driver = await Driver.start([...mock, "--servers", "10000", "--players", "15000", "--hostile"]);
    });
    afterAll(() => driver?.end());

    it("O-2: stays smooth: a page of rows, sort and filter, and a small share of the processor", async () => {
        await open(driver, "#/servers");
        await seen("10,000 servers");
        const devtools = await browser.newCDPSession(page);
        // What the page's own thread used: others may share the machine.
        await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
        const used = async () => {
            const { metrics } = await devtools.send("Performance.getMetrics");
            return metrics.find((metric) => metric.name === "TaskDuration")?.value ?? Infinity;
        };
        const [begin, usedBefore] = [Date.now(), await used()];

        await page.getByRole("columnheader", { name: "CPU" }).getByRole("button").click();
        await page.getByRole("button", { name: "Last", exact: true }).click();
        await seen("9,951–10,000 of 10,000");
        await page.getByLabel("Find").pressSequentially("10.2.3", { delay: 60 });
        await seen(/^[\d,]+ of 10,000 servers$/);
        await page.waitForTimeout(11_000); // at least one whole reload

        const share = (await used() - usedBefore) / ((Date.now() - begin) / 1000);
        const rows = await page.getByRole("row").count();
        console.log(`10,000 servers: ${rows} rows in the page, ${(100 * share).toFixed(1)} % of a core`);
        await shot("servers_10000");
        expect(rows).toBeLessThanOrEqual(51);
        expect(share).toBeLessThan(0.25);
        expect(complaints).toEqual([]);
    });

    it("fault 70: escape codes, markup and turned text are shown for what they are", async () => {
        await open(driver, "#/players?q=red");
        await row("␛[31mred␛[0m␇").waitFor();
        await page.getByLabel("Find").fill("gnp");
        await row("\\u202egnp.exe").waitFor();
        await page.getByLabel("Find").fill("alert(2)");
        await row('"><script>alert(2)</script>').waitFor();
        expect(complaints).toEqual([]);
    });
});

describe("a daemon that guards its reads", () => {
    let driver: Driver;
    beforeAll(async () => {
        driver = await Driver.start([...mock, "--token", "the-secret", "--guard-reads"]);
    });
    afterAll(() => driver?.end());

    it("fault 70: asks once, does not guess, and opens with the token", async () => {
        let asked = 0;
        page.on("request", (request) => void (asked += request.url().includes("/api/v1/") ? 1 : 0));
        await open(driver, "#/servers");
        await page.getByRole("dialog").waitFor();
        await page.getByRole("button", { name: "Not now" }).click();
        await seen("Muster asks for the admin token");
        const before = asked;
        await page.waitForTimeout(4_000);
        expect(asked).toBe(before);
        await seen("The list could not be loaded: The admin token is needed for this.");
        await shot("locked");
        await page.getByRole("button", { name: "Enter the token" }).click();
        await sign(driver);
        await row("available").first().waitFor();
        await page.getByRole("link", { name: "Overview" }).click();
        await seen("Regions");
    });
});
