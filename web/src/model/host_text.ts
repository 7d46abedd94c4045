// Hosts in words and marks.

import type { Host, Process, ProcessState } from "../api/shapes";

type Tone = "ok" | "warn" | "bad" | "unknown" | "over";

export const PROCESS_TONES: Record<ProcessState, Tone> = {
    starting: "warn",
    ready: "ok",
    allocated: "ok",
    unhealthy: "bad",
    stopping: "warn",
    backoff: "warn",
    crash_loop: "bad",
    stopped: "over",
};

// One that is awaited was connected when Muster restarted, and has a while to return.
export function standing(host: Host): string {
    if (!host.connected) return host.lost_at_ms === null ? "awaited since Muster restarted" : "lost";
    return host.draining ? "draining" : "connected";
}

// As bad as the worst of it.
export function hostTone(host: Host): Tone {
    if (!host.connected) return host.lost_at_ms === null ? "warn" : "bad";
    const tones = host.processes.map((process) => PROCESS_TONES[process.state]);
    if (tones.includes("bad")) return "bad";
    return tones.includes("warn") || host.draining ? "warn" : "ok";
}

// "8 processes: 6 ready, 2 crash loop", by how many.
export function summary(host: Host): string {
    const counts = new Map<ProcessState, number>();
    for (const { state } of host.processes) counts.set(state, (counts.get(state) ?? 0) + 1);
    const parts = [...counts].sort((left, right) => right[1] - left[1]).map(([state, number]) => `${number} ${state.replace("_", " ")}`);
    const whole = host.processes.length === 1 ? "1 process" : `${host.processes.length} processes`;
    return parts.length === 0 ? whole : `${whole}: ${parts.join(", ")}`;
}

const SHOWN_MAX = 5;

// Processes whose last lines say why they ended, the latest first: those that are not up again, and those that restarted.
export function lastWords(host: Host): Process[] {
    return host.processes
        .filter((process) => (process.last_exit?.last_lines ?? "") !== "" && process.state !== "stopped")
        .sort((left, right) => (right.last_exit?.at_ms ?? 0) - (left.last_exit?.at_ms ?? 0))
        .slice(0, SHOWN_MAX);
}
