// The dashboard and its daemon in a real Chromium, driven as an operator would.
//
// MUSTER_PAGE_PROGRAM names the daemon; without it, the mock of web/mock stands in. Screenshots go to
// MUSTER_PAGE_ARTEFACTS (build/web_page).

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Driver, program, useTab } from "./browser";

const HOSTILE = "<img src=x onerror=alert(1)>";

const tab = useTab();

describe("the page and its daemon", () => {
    let driver: Driver;
    beforeAll(async () => {
        driver = await Driver.daemon();
    });
    afterAll(() => driver?.end());

    it("O-2: loads without a complaint under its content policy, says how the whole is, and asks nobody else for anything", async () => {
        const asked = new Set<string>();
        tab.page.on("request", (request) => asked.add(new URL(request.url()).origin));
        const answer = await tab.open(driver);
        const policy = answer?.headers()["content-security-policy"] ?? "";
        expect(policy).toMatch(/default-src '(self|none)'/);
        expect(policy).not.toContain("unsafe");
        await tab.page.getByRole("region", { name: "Health" }).filter({ hasText: /OK|Warning|Critical/ }).waitFor();
        await tab.page.getByRole("heading", { name: "Regions" }).waitFor();
        await tab.row("EU").waitFor();
        await tab.chart("Pass time", /average: now [\d<]/).waitFor();
        await tab.shot("overview_empty");
        expect(tab.complaints).toEqual([]);
        expect([...asked]).toEqual([new URL(driver.url).origin]);
    });

    it("O-2: shows a server that joins, drains it for a reason, by keyboard, and says what that means for the whole", async () => {
        await tab.open(driver, "#/servers");
        await tab.page.getByRole("table").waitFor();
        const { server } = await driver.tell("join");
        await tab.page.getByLabel("Find").fill(String(server));
        const drain = tab.page.getByRole("button", { name: `Drain server ${server}`, exact: true });
        await drain.waitFor();
        await drain.focus();
        await tab.page.keyboard.press("Enter");
        await tab.page.getByRole("dialog").getByText(`Drain server ${server}?`).waitFor();
        await tab.page.keyboard.press("Escape");
        await tab.page.getByRole("dialog").waitFor({ state: "hidden" });
        await tab.page.keyboard.press("Enter");
        await tab.page.getByRole("dialog").getByLabel("Reason (optional)").waitFor();
        await tab.page.keyboard.type("new kernel");
        await tab.shot("drain_asks_why");
        await tab.page.keyboard.press("Enter");
        await tab.sign(driver);
        await tab.page.getByRole("button", { name: `Undrain server ${server}`, exact: true }).waitFor();
        // Whoever came by keyboard goes on from there.
        await expect.poll(() => tab.page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe(`Undrain server ${server}`);
        await tab.row(String(server)).filter({ hasText: "draining" }).first().waitFor();
        await tab.shot("servers_draining");
        if (program !== undefined) {
            await tab.page.getByRole("link", { name: "Health: Warning" }).click();
            await tab.page.getByRole("region", { name: "Health" }).filter({ hasText: "No server of EU can take a match" }).waitFor();
            await tab.shot("overview_warning");
            await tab.page.goBack();
        }

        await tab.page.getByRole("link", { name: String(server), exact: true }).click();
        await tab.page.getByRole("heading", { name: `Server ${server}`, exact: true }).waitFor();
        await tab.seen(/^Drained by an operator at .* since .*: new kernel$/);
        const happened = tab.page.getByRole("region", { name: "Events of this server" });
        await happened.getByRole("listitem").filter({ hasText: "Operator: drain" }).filter({ hasText: /reason\snew kernel/ }).waitFor();
        await tab.page.getByRole("button", { name: "Undrain" }).click();
        await tab.page.getByRole("button", { name: "Drain server" }).waitFor();
        await tab.seen("Server registered");
        await tab.chart("Silence before each heartbeat", /silent for: now \d/).waitFor();
        await tab.shot("server_new");
        expect(tab.faults).toEqual([]);
    });

    it("O-2: says that a server is not registered, and asks no further", async () => {
        let asked = 0;
        tab.page.on("request", (request) => void (asked += request.url().includes("/servers/999999") ? 1 : 0));
        await tab.open(driver, "#/servers/999999");
        await tab.seen("Server 999999 is not registered.");
        await tab.seen("No events recorded.");
        await tab.page.waitForTimeout(1_500);
        expect(asked).toBe(1);
    });

    it("A-13: a request that fails shows by its reason, beside the times of those that did not", async () => {
        await driver.tell("join");
        await driver.tell("match");
        await tab.open(driver);
        await tab.chart("Per second", /succeeded: now [\d<]/).waitFor(); // what comes now is after the readings that it is compared to
        await driver.tell("refused");
        await driver.tell("match");
        await tab.chart("Failures by reason", /No servers available: now [1-9]/).waitFor();
        await tab.chart("Time to answer", /p50: now \d.*p95: now \d.*p99: now \d/).waitFor();
        await tab.row("No servers available").filter({ hasText: /\d/ }).waitFor();
        await tab.shot("allocations");
        expect(tab.complaints).toEqual([]);
    });

    it("O-2: shows a match that was allocated, and aborts it once the operator has said so twice", async () => {
        await driver.tell("join");
        const { lobby } = await driver.tell("match");
        await tab.open(driver, `#/matches?q=${lobby}`);
        await tab.page.getByRole("button", { name: `Abort the match of lobby ${lobby}`, exact: true }).click();
        const dialog = tab.page.getByRole("dialog");
        await dialog.getByLabel("Reason").fill("Cheating");
        await tab.page.keyboard.press("Escape");
        await dialog.waitFor({ state: "hidden" });
        await tab.page.getByRole("button", { name: `Abort the match of lobby ${lobby}`, exact: true }).click();
        await dialog.getByLabel("Reason").fill("Wrong map");
        await dialog.getByRole("button", { name: "Abort the match" }).click();
        await tab.sign(driver);
        await tab.row(String(lobby)).filter({ hasText: "aborted" }).filter({ hasText: "Wrong map" }).first().waitFor();
        expect(await tab.page.getByRole("button", { name: `Abort the match of lobby ${lobby}`, exact: true }).count()).toBe(0);
        await tab.shot("match_aborted");
        expect(tab.faults).toEqual([]);
    });

    it("fault 70: a hostile player name is text wherever it shows", async () => {
        await tab.open(driver, "#/events?q=onerror");
        await tab.seen("Live");
        const { player } = await driver.tell(`player ${HOSTILE}`);
        await tab.page.getByRole("listitem").filter({ hasText: HOSTILE }).first().waitFor();
        await tab.page.goto(`${driver.url}#/players?q=onerror`);
        await tab.row(HOSTILE).waitFor();
        await tab.shot("players_hostile");
        await tab.page.getByRole("button", { name: `Kick ${HOSTILE}` }).click();
        const dialog = tab.page.getByRole("dialog");
        await dialog.getByText(`Kick ${HOSTILE}?`).waitFor();
        await tab.shot("kick_asks_first");
        expect(await tab.page.locator("img").count()).toBe(0);

        await dialog.getByRole("button", { name: "Leave it" }).click();
        expect(await tab.row(HOSTILE).count()).toBe(1);
        await tab.page.getByRole("button", { name: `Kick ${HOSTILE}` }).click();
        await dialog.getByRole("button", { name: "Kick the player" }).click();
        await tab.sign(driver);
        await tab.seen(`${HOSTILE} was kicked`);
        await tab.row(HOSTILE).waitFor({ state: "detached" });
        expect(player).toBeTypeOf("number");
        expect(tab.faults).toEqual([]);
    });

    it("fault 70: the token stays in the page's memory, and is in no address and no storage", async () => {
        await tab.open(driver);
        await tab.seen("World clock");
        await tab.page.getByRole("button", { name: "Set the clock…" }).click();
        await tab.page.getByLabel("Hour").fill("14");
        await tab.page.getByLabel("Minute", { exact: true }).fill("30");
        await tab.page.getByLabel("Day").selectOption({ label: "Tue." });
        await tab.page.getByRole("button", { name: "Set", exact: true }).click();
        await tab.page.getByRole("dialog").getByLabel("Token").fill("not-this-one");
        await tab.page.getByRole("dialog").getByRole("button", { name: "Enter" }).click();
        await tab.seen("That token was not accepted.");
        await tab.shot("token_wrong");
        await tab.sign(driver);
        await tab.seen(/The world clock was set to Tue\. 14:30/);
        await tab.page.locator(".big", { hasText: /Tue\. 14:3\d/ }).waitFor();
        const kept = await tab.page.evaluate(() => ({
            session: JSON.stringify({ ...sessionStorage }),
            local: JSON.stringify({ ...localStorage }),
            cookies: document.cookie,
            address: location.href,
        }));
        expect(kept.session + kept.local + kept.cookies + kept.address).not.toContain(driver.token);
        await tab.page.getByRole("button", { name: "Forget token" }).click();
        await tab.page.getByRole("button", { name: "Sign in" }).waitFor();
    });

    it("says since when the daemon is gone, keeps trying, and recovers by itself", async () => {
        await tab.open(driver);
        await tab.seen("Regions");
        await driver.tell("stop");
        await tab.seen("Muster does not answer");
        await tab.seen(/since\s+\d\d:\d\d:\d\d/);
        await tab.seen("Unknown");
        await tab.page.getByRole("status").filter({ hasText: "Muster does not answer. The page keeps trying." }).waitFor({ state: "attached" });
        await tab.shot("daemon_gone");
        await driver.tell("start");
        await tab.page.getByText("Muster does not answer").first().waitFor({ state: "detached" });
        await tab.page.goto(`${driver.url}#/events`);
        await tab.seen("Live");
        const { server } = await driver.tell("join");
        const joined = tab.page.getByRole("listitem").filter({ hasText: "Server registered" }).filter({ hasText: `server ${server}` }).last();
        // Where others joined shortly before, it is one of several in a fold.
        const fold = tab.page.locator("li.many", { hasText: "servers registered" }).first();
        await joined.or(fold).first().waitFor();
        if (!(await joined.isVisible())) await fold.locator("summary").click();
        await joined.waitFor();
        await tab.shot("events");
    });
});
