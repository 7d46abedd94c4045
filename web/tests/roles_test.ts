// What a viewer and an admin see: names, buttons, the audit and the blocks.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Driver, useTab } from "./browser";

const tab = useTab();

describe("a daemon with operators", () => {
    let driver: Driver;
    beforeAll(async () => {
        driver = await Driver.mock("--token", "root-token", "--viewer", "viewer-token");
    });
    afterAll(() => driver?.end());

    const signIn = async (token: string) => {
        await tab.page.getByRole("button", { name: "Sign in" }).click();
        await tab.page.getByRole("dialog").getByLabel("Token").fill(token);
        await tab.page.getByRole("dialog").getByRole("button", { name: "Enter" }).click();
    };
    const buttons = (name: RegExp) => tab.page.getByRole("button", { name });

    it("S-5: a viewer is named, and sees no action buttons", async () => {
        await tab.open(driver, "#/servers");
        await tab.row("available").first().waitFor();
        expect(await buttons(/^Drain server/).count()).toBeGreaterThan(0);
        await signIn("viewer-token");
        await tab.seen("bob · viewer");
        for (const [view, name] of [["Servers", /Drain/], ["Matches", /Abort/], ["Players", /Kick/], ["Access", /Block|Unblock/]] as const) {
            await tab.page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: view }).click();
            await tab.page.getByRole("table").first().waitFor();
            expect(await buttons(name).count(), view).toBe(0);
        }
        await tab.page.getByRole("link", { name: "Overview" }).click();
        await tab.seen("World clock");
        expect(await buttons(/Set the clock/).count()).toBe(0);
        await tab.shot("viewer");
        expect(tab.faults).toEqual([]);
    });

    it("N-11: the view of the cluster names the cells that each node owns", async () => {
        await tab.open(driver, "#/cluster");
        await tab.row("10.0.0.3:11030").filter({ hasText: "main" }).first().waitFor();
        expect(tab.faults).toEqual([]);
    });

    it("S-6: an admin blocks and unblocks, and the audit says who did it and from where", async () => {
        await tab.open(driver, "#/access");
        await signIn("root-token");
        await tab.seen("Signed in as");
        await tab.page.getByLabel("Which").fill("203.0.113.7");
        await tab.page.getByLabel("Reason").fill("flood");
        await tab.page.getByRole("button", { name: "Block", exact: true }).click();
        await tab.seen("ip 203.0.113.7 is blocked");
        await tab.row("203.0.113.7").filter({ hasText: "flood" }).first().waitFor();
        const audited = tab.row("block ip 203.0.113.7");
        await audited.filter({ hasText: "admin" }).filter({ hasText: "127.0.0.1" }).first().waitFor();
        await tab.shot("access");
        await tab.page.getByRole("button", { name: "Unblock ip 203.0.113.7" }).click();
        await tab.seen("Nobody is blocked.");
        expect(tab.faults).toEqual([]);
    });

    it("S-5: the token is kept in memory only, and a reload forgets it", async () => {
        await tab.open(driver, "#/access");
        await signIn("root-token");
        await tab.page.getByRole("button", { name: "Forget token" }).waitFor();
        const kept = await tab.page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }) + document.cookie);
        expect(kept).not.toContain("root-token");
        await tab.page.reload();
        await tab.page.getByRole("button", { name: "Sign in" }).waitFor();
    });
});
