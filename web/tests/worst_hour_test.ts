// The page as somebody sees it who was woken by an alarm: of the mock, which can have a past and an outage at will.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Driver, useTab } from "./browser";

const tab = useTab();

describe("the worst hour", () => {
    let driver: Driver;
    beforeAll(async () => {
        driver = await Driver.mock("--servers", "60", "--players", "2000", "--rate", "2");
        await driver.tell("past 600");
    });
    afterAll(() => driver?.end());

    it("O-2: the charts have their past when the page opens, and when it is loaded again", async () => {
        for (let round = 0; round < 2; ++round) {
            if (round === 0) await tab.open(driver);
            else await tab.page.reload();
            // Of five minutes, though the page is open for a moment.
            await tab.seen(/in 5\u00A0min 0\u00A0s/);
            await tab.chart("Per second", /succeeded: now [\d<]/).waitFor();
        }
        expect(tab.complaints).toEqual([]);
    });

    it("O-2: a lobby's number leads to its match, told from the request on with why its server was chosen", async () => {
        const { lobby } = await driver.tell("match");
        await tab.open(driver, `#/matches?q=${lobby}`);
        await tab.page.getByRole("link", { name: String(lobby), exact: true }).click();
        await tab.page.getByRole("heading", { level: 1, name: `Match of lobby ${lobby}` }).waitFor();
        const timeline = tab.page.getByRole("list").filter({ hasText: "Match requested" });
        await timeline.getByText("Match offered").waitFor();
        await timeline.getByText(/^Chosen as the (best of \d+|only candidate): score [\d.]+, load \d+\./).waitFor();
        await timeline.getByText("Match started").waitFor();
        await timeline.getByText(/tokens? used$/i).first().waitFor();
        await tab.shot("match");
        // From who came, to what happened to them, and back by their events.
        await timeline.locator("li", { hasText: /tokens? used/i }).first().getByRole("link").first().click();
        await tab.page.getByRole("heading", { level: 1, name: "Events" }).waitFor();
        await tab.seen("Player logged in");
        expect(await tab.page.getByRole("searchbox", { name: "Player" }).inputValue()).toMatch(/^\d+$/);
        expect(tab.complaints).toEqual([]);
    });

    it("O-2: a lobby that nobody knows is told so", async () => {
        await tab.open(driver, "#/matches/999999");
        await tab.seen("Lobby 999999 has no match that Muster still knows.");
        // The browser itself writes the 404 to the console.
        expect(tab.complaints.filter((text) => !text.includes("404"))).toEqual([]);
    });

    it("O-2: a player shows its match and leads to its events, and matchmakers have a list", async () => {
        await driver.tell("match");
        await tab.open(driver, "#/players");
        const match = tab.page.locator('tbody td a[href^="#/matches/"]').first();
        await match.waitFor();
        await tab.page.locator("tbody th a").first().click();
        await tab.page.getByRole("heading", { level: 1, name: "Events" }).waitFor();
        await tab.page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Matchmakers" }).click();
        await tab.row("ranked-eu").getByText("USE, USW, EU").waitFor();
        await tab.row("chat-1").getByRole("link").click();
        await tab.page.getByRole("heading", { level: 1, name: "Matches" }).waitFor();
        expect(await tab.page.getByLabel("Find").inputValue()).toBe("chat-1");
        expect(tab.complaints).toEqual([]);
    });

    it("O-2: many servers are drained by a filter or a selection, and say who did it, when and why", async () => {
        await tab.open(driver, "#/servers?q=10.2.");
        const shown = tab.page.getByRole("button", { name: /^Drain \d+ servers shown$/ });
        await shown.waitFor();
        await tab.page.locator("tbody input[type=checkbox]").first().check();
        const one = tab.page.getByRole("button", { name: "Drain 1 server selected" });
        await one.waitFor();
        await tab.page.locator("tbody input[type=checkbox]").nth(1).check();
        await tab.shot("servers_selected");
        await tab.page.getByRole("button", { name: "Drain 2 servers selected" }).click();
        await tab.page.getByRole("dialog").getByLabel("Reason (optional)").fill("rack 7");
        await tab.page.getByRole("dialog").getByRole("button", { name: "Drain 2 servers" }).click();
        await tab.seen("2 servers are draining: no new match goes there");
        await expect.poll(() => tab.row("draining").count()).toBe(2);
        await tab.row("draining").first().getByRole("link").first().click();
        await tab.seen(/^Drained by an operator at 127\.0\.0\.1 since/);
        await tab.seen(/: rack 7$/);
        await tab.shot("server_drained");
        await tab.page.goBack();
        await shown.click();
        await tab.page.getByRole("dialog").getByRole("button", { name: /^Drain \d+ servers?$/ }).click();
        await shown.waitFor({ state: "detached" }); // all that are shown are draining now
        await tab.page.getByRole("button", { name: /^Undrain \d+ servers shown$/ }).click();
        await tab.page.getByRole("dialog").getByRole("button", { name: /^Undrain \d+ servers$/ }).click();
        await expect.poll(() => tab.row("draining").count()).toBe(0);
        expect(tab.complaints).toEqual([]);
    });

    it("O-2: shared reasons are one line, equal events fold, and a fold can be opened", async () => {
        await driver.tell("blackout");
        await tab.open(driver);
        await tab.seen("All servers of USE, EU are offline");
        const health = tab.page.getByRole("region", { name: "Health" });
        expect(await health.getByText(/offline/).count()).toBe(1);
        const fold = tab.page.locator(".recent .events li.many", { hasText: "servers offline" }).first();
        await fold.waitFor();
        expect(await fold.locator("li").count()).toBe(0);
        await fold.locator("summary").click();
        const many = async () => Number.parseInt((await fold.locator(".what").first().textContent()) ?? "", 10);
        await expect.poll(async () => (await fold.locator("li").count()) - (await many())).toBe(0);
        await fold.locator("li").first().getByRole("link").waitFor();
        await tab.shot("worst_hour");
        expect(tab.complaints).toEqual([]);
    });
});
