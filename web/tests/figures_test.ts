// What the dashboard makes of figures that a lively fleet seldom has, and where it puts them. Answers of the mock
// (web/mock) are replaced where a test needs others.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Driver, useTab } from "./browser";

const tab = useTab();

// Answers every question for this list with these rows.
async function listOf(name: "servers" | "matches" | "players", rows: object[]): Promise<void> {
    await tab.page.route(`**/api/v1/${name}?*`, (route) => route.fulfill({ json: { [name]: rows, next: null } }));
}

const MATCH = { server_id: 1, matchmaker: "chat-1", region: 2, state: "started", reason: "", player_count: 10, tokens_used: 0 };

const SERVER = {
    id: 1,
    ip: "10.0.0.1",
    port: 27015,
    region: 2,
    status: "available",
    matches: 0,
    reported_matches: 0,
    max_matches: 4,
    cpu: 0,
    memory: 0,
    draining: false,
    drained_by_operator: false,
    drain: null,
    connected: true,
    epoch: 1,
    choices: 0,
    registered_at_ms: 1,
    last_heartbeat_ms_ago: 0,
    rtt_ms: 0.5,
    jitter_ms: 0,
};

const PLAYER = {
    id: 1,
    name: "Ann",
    connected: true,
    idle: false,
    latency_ms: 6.9,
    jitter_ms: 0,
    connected_at_ms: 1,
    last_message_ms_ago: 0,
    last_ping_sent_ms_ago: 0,
    last_ping_received_ms_ago: 0,
    entity: 1,
    failed_heartbeats: 0,
    lobby_id: null,
};

describe("figures and where they stand", () => {
    let driver: Driver;
    beforeAll(async () => {
        driver = await Driver.mock("--servers", "20", "--players", "20", "--rate", "4");
    });
    afterAll(() => driver?.end());

    it("O-2: matches stand newest first, whatever their lobbies are numbered", async () => {
        const now = Date.now();
        await listOf("matches", [
            { ...MATCH, lobby_id: 5, requested_at_ms: now - 1_000, allocated_at_ms: null, state: "offering", server_id: null },
            { ...MATCH, lobby_id: 70, requested_at_ms: now - 60_000, allocated_at_ms: now - 60_000 },
            { ...MATCH, lobby_id: 900, requested_at_ms: now - 9_000, allocated_at_ms: now - 9_000 },
        ]);
        await tab.open(driver, "#/matches");
        await tab.row("70").first().waitFor();
        expect(await tab.page.getByRole("rowheader").allTextContents()).toEqual(["5", "900", "70"]);
        const requested = tab.page.getByRole("columnheader", { name: "Requested" });
        expect(await requested.getAttribute("aria-sort")).toBe("descending");
        expect(await requested.textContent()).toContain("▼");
        await requested.getByRole("button").click();
        expect(await tab.page.getByRole("rowheader").allTextContents()).toEqual(["70", "900", "5"]);
        expect(tab.complaints).toEqual([]);
    });

    it("O-2: a load of nothing is a figure, and only what was not measured is a dash", async () => {
        await listOf("servers", [SERVER, { ...SERVER, id: 2, port: 27016, cpu: 7, rtt_ms: 0 }]);
        await listOf("players", [PLAYER, { ...PLAYER, id: 2, name: "Bob", latency_ms: 0 }, { ...PLAYER, id: 3, name: "Cem", latency_ms: 1500 }]);
        const cells = async (row: string) =>
            (await tab.row(row).getByRole("cell").allTextContents()).map((text) => text.replaceAll("\u00A0", " "));
        await tab.open(driver, "#/servers");
        await tab.row("27016").waitFor();
        expect((await cells("27015")).slice(4, 9)).toEqual(["0 of 4 ", "0 %", "0 %", "0 s ago", "0.50 ms"]);
        expect((await cells("27016")).slice(5, 9)).toEqual(["7 %", "0 %", "0 s ago", "–"]);
        await tab.page.goto(`${driver.url}#/players`);
        await tab.row("Cem").waitFor();
        expect((await cells("Ann")).slice(3, 5)).toEqual(["6.90 ms", "0.00 ms"]);
        expect((await cells("Bob")).slice(3, 5)).toEqual(["–", "–"]);
        expect((await cells("Cem")).slice(3, 5)).toEqual(["1,500 ms", "0.00 ms"]);
        expect(tab.complaints).toEqual([]);
    });

    it("no tile, chart or fact stands alone in its row, on any screen from a phone to a wide one", async () => {
        // The rows of a grid, as how many stand in each.
        const rowsOf = (grid: string) =>
            tab.page.locator(grid).evaluateAll((grids) =>
                grids.map((each) => {
                    const tops = [...each.children].map((child) => Math.round(child.getBoundingClientRect().top));
                    return [...new Set(tops)].map((top) => tops.filter((other) => other === top).length);
                }),
            );
        for (const [view, grids] of [
            ["", [".tiles", "section[aria-labelledby=allocations] .halves"]],
            ["servers/1", [".quarters", ".facts"]],
        ] as const) {
            await tab.page.goto(`${driver.url}#/${view}`);
            for (const grid of grids) await tab.page.locator(grid).first().waitFor();
            for (const width of [390, 800, 1024, 1280, 1440, 1920, 2560]) {
                await tab.page.setViewportSize({ width, height: 900 });
                for (const grid of grids) {
                    const found = await rowsOf(grid);
                    expect(found.length, `${grid} of ${view}`).toBe(1);
                    for (const rows of found) expect(Math.min(...rows) > 1 || Math.max(...rows) === 1, `${grid} at ${width}: ${rows}`).toBe(true);
                }
            }
        }
        expect(tab.complaints).toEqual([]);
    });

    it("O-2: what is notable is not washed away by the everyday course of matches", async () => {
        await tab.open(driver);
        await tab.seen("Notable events");
        await tab.page.getByRole("region", { name: "Notable events" }).getByRole("link", { name: "all" }).click();
        await tab.page.getByRole("heading", { level: 1, name: "Events" }).waitFor();
        expect(await tab.page.getByLabel("About").inputValue()).toBe("notable");
        await tab.page.getByRole("listitem").filter({ hasText: /Server registered|servers registered/ }).first().waitFor();
        const everyday = tab.page.getByRole("log").getByRole("listitem").filter({ hasText: /[Mm]atch(es)? (started|ready|ended)|[Pp]layer/ });
        expect(await everyday.count()).toBe(0);
        await tab.page.getByLabel("About").selectOption("match");
        await everyday.first().waitFor();
        expect(tab.complaints).toEqual([]);
    });
});
