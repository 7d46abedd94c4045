// What the page's tests share: a daemon or its mock to look at, and a tab of a real Chromium that remembers what went wrong.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium, type BrowserContext, type Locator, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const artefacts = process.env.MUSTER_PAGE_ARTEFACTS ?? join(root, "build", "web_page");
const dist = process.env.MUSTER_PAGE_DIST ?? join(root, "web", "dist");
const PATIENCE_MS = 60_000; // what only a broken page needs

export const program = process.env.MUSTER_PAGE_PROGRAM;
export const PHONE = { width: 360, height: 740 };
export const DESK = { width: 1440, height: 1000 };

const mocked = (...options: string[]) => ["node", join(root, "web", "mock", "main.mjs"), "--port", "0", "--dist", dist, ...options];

// The daemon's side: a program that prints its address and takes commands, a line each.
export class Driver {
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

    // The real daemon with peers made by driver.py; where there is none, the mock of web/mock stands in.
    static daemon(): Promise<Driver> {
        if (program === undefined) return Driver.mock("--token", "a-token");
        return Driver.start(["python3", join(root, "web", "tests", "driver.py"), program]);
    }

    static mock(...options: string[]): Promise<Driver> {
        return Driver.start(mocked(...options));
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

    private static async start([command = "", ...words]: string[]): Promise<Driver> {
        const driver = new Driver(spawn(command, words, { cwd: root, stdio: ["pipe", "pipe", "inherit"] }));
        const hello = await driver.answer();
        driver.url = String(hello.url);
        driver.token = String(hello.token);
        const answer = await fetch(driver.url);
        if (answer.headers.get("content-type")?.startsWith("text/html")) return driver;
        await driver.end();
        throw new Error(`There is no page at /, but this: ${await answer.text()}`);
    }

    private async answer(): Promise<Record<string, unknown>> {
        const line = this.early.shift() ?? (await new Promise<string>((resolve) => this.answers.push(resolve)));
        const answer = JSON.parse(line) as Record<string, unknown>;
        if ("error" in answer) throw new Error(String(answer.error));
        return answer;
    }
}

// A tab for each test, closed after it.
export class Tab {
    page!: Page;
    browser!: BrowserContext;
    complaints: string[] = [];

    // A question for the token is an answer 401, which the browser itself writes to the console.
    get faults(): string[] {
        return this.complaints.filter((text) => !text.includes("401"));
    }

    open(driver: { url: string }, route = "") {
        return this.page.goto(`${driver.url}${route}`);
    }

    shot(name: string) {
        return this.page.screenshot({ path: join(artefacts, `${name}.png`), fullPage: true });
    }

    seen(text: string | RegExp): Promise<void> {
        return this.page.getByText(text).first().waitFor();
    }

    row(name: string): Locator {
        return this.page.getByRole("row").filter({ hasText: name });
    }

    // A chart, by its title and what it says to whoever does not see it.
    chart(title: string, says: RegExp = /./): Locator {
        return this.page.getByRole("img", { name: new RegExp(`^${title}.*${says.source}`) });
    }

    // Answers the question for the admin token, where the daemon has one.
    async sign(driver: Driver): Promise<void> {
        if (driver.token === "") return;
        await this.page.getByRole("dialog").getByLabel("Token").fill(driver.token);
        await this.page.getByRole("dialog").getByRole("button", { name: "Enter" }).click();
    }
}

export function useTab(): Tab {
    const tab = new Tab();
    const profile = mkdtempSync(join(tmpdir(), "muster-page-"));

    beforeAll(async () => {
        mkdirSync(artefacts, { recursive: true });
        tab.browser = await chromium.launchPersistentContext(profile, {
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
        tab.browser.setDefaultTimeout(PATIENCE_MS);
    });
    afterAll(async () => {
        await tab.browser?.close();
        rmSync(profile, { recursive: true, force: true });
    });

    beforeEach(async () => {
        const page = await tab.browser.newPage();
        const complaints: string[] = [];
        page.on("console", (message) => {
            if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
        });
        page.on("pageerror", (error) => complaints.push(error.message));
        page.on("dialog", (dialog) => {
            complaints.push(`a script ran: ${dialog.message()}`);
            void dialog.dismiss();
        });
        tab.page = page;
        tab.complaints = complaints;
    });
    afterEach(() => tab.page?.close());
    return tab;
}
