import { describe, expect, it } from "vitest";
import type { Host, Process, ProcessState } from "../api/shapes";
import { hostTone, lastWords, standing, summary } from "./host_text";

function process(name: string, state: ProcessState, exitAt = 0): Process {
    return {
        name,
        run: "arena",
        state,
        pid: 1,
        port: 7000,
        server_id: null,
        started_at_ms: 1,
        restarts: 0,
        last_exit: exitAt === 0 ? null : { code: null, signal: 9, at_ms: exitAt, reason: "signal 9 (SIGKILL)", last_lines: "bye" },
    };
}

function host(...processes: Process[]): Host {
    return {
        name: "eu-1",
        address: "10.0.0.7",
        region: 2,
        connected: true,
        draining: false,
        version: "1",
        cpu: 1,
        memory: 1,
        joined_at_ms: 1,
        lost_at_ms: null,
        processes,
    };
}

describe("hosts in words", () => {
    it("G-12: a host is as bad as the worst of it", () => {
        expect(hostTone(host(process("a", "ready")))).toBe("ok");
        expect(hostTone(host(process("a", "ready"), process("b", "backoff")))).toBe("warn");
        expect(hostTone(host(process("a", "crash_loop"), process("b", "backoff")))).toBe("bad");
        expect(hostTone({ ...host(), connected: false, lost_at_ms: 5 })).toBe("bad");
        expect(hostTone({ ...host(), connected: false })).toBe("warn");
    });
    it("G-12: a host that is awaited after a restart of Muster is not lost yet", () => {
        expect(standing(host())).toBe("connected");
        expect(standing({ ...host(), draining: true })).toBe("draining");
        expect(standing({ ...host(), connected: false })).toBe("awaited since Muster restarted");
        expect(standing({ ...host(), connected: false, lost_at_ms: 5 })).toBe("lost");
    });
    it("G-12: states are counted, most first", () => {
        expect(summary(host())).toBe("0 processes");
        expect(summary(host(process("a", "crash_loop"), process("b", "ready"), process("c", "ready")))).toBe("3 processes: 2 ready, 1 crash loop");
    });
    it("G-12: the last lines of what crashed are shown, the latest first", () => {
        const words = lastWords(host(process("a", "ready", 5), process("b", "backoff", 9), process("c", "ready"), process("d", "stopped", 99)));
        expect(words.map((each) => each.name)).toEqual(["b", "a"]);
    });
});
