// Asks for the overview once a second, keeps its trail, and knows since when the daemon has not answered.

import { NotSignedIn, type Api } from "../api/api";
import { backoffMs } from "../api/backoff";
import { Pause } from "../api/pause";
import type { Overview, OverviewHistory } from "../api/shapes";
import { Store } from "./store";
import { GAP_MS, Trail } from "./trail";

export const POLL_MS = 1_000;

export type Link =
    | { state: "connecting" }
    | { state: "live" }
    // `since` is this browser's time: the daemon's is not to be had.
    | { state: "lost"; since: number; reason: string }
    | { state: "locked" };

export interface Reading {
    overview: Overview;
    trail: Trail;
}

export class OverviewWatch {
    readonly link = new Store<Link>({ state: "connecting" });
    readonly reading = new Store<Reading | null>(null);

    private readonly trail = new Trail();
    private readonly pause = new Pause();
    private lastAnswer: number | null = null;
    private lastTime: number | null = null; // the daemon's
    private failures = 0;

    constructor(
        private readonly api: Pick<Api, "get">,
        private readonly now: () => number = Date.now,
    ) {}

    // Runs as long as the page is open.
    async run(): Promise<never> {
        for (;;) await this.pause.wait(await this.once());
    }

    // Asks now instead of at the next turn.
    retry(): void {
        this.pause.wake();
    }

    // One question and its answer; returns how long to wait before the next, null to wait for retry().
    async once(): Promise<number | null> {
        try {
            const overview = await this.api.get<Overview>("overview");
            if (this.link.value.state !== "live" || this.wasAway(overview)) await this.fillTrail();
            this.trail.push(overview);
            this.lastTime = overview.time_ms;
            this.lastAnswer = this.now();
            this.failures = 0;
            this.reading.set({ overview, trail: this.trail });
            this.link.set(this.link.value.state === "live" ? this.link.value : { state: "live" });
            return POLL_MS;
        } catch (error) {
            // A wrong token is not tried again and again: attempts are bounded.
            if (error instanceof NotSignedIn) {
                this.link.set({ state: "locked" });
                return null;
            }
            const known = this.link.value;
            const since = known.state === "lost" ? known.since : (this.lastAnswer ?? this.now());
            this.link.set({ state: "lost", since, reason: error instanceof Error ? error.message : String(error) });
            return backoffMs(this.failures++);
        }
    }

    // The tab slept, or an answer took very long.
    private wasAway(overview: Overview): boolean {
        return this.lastTime !== null && overview.time_ms - this.lastTime > GAP_MS;
    }

    // The charts do without the past when it cannot be had.
    private async fillTrail(): Promise<void> {
        try {
            this.trail.fill(await this.api.get<OverviewHistory>("overview/history"));
        } catch {
            // The next question says what is wrong.
        }
    }
}
