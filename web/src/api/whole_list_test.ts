import { expect, it } from "vitest";
import { PAGE_ROWS, ROWS_MAX, wholeList } from "./whole_list";

// A daemon with so many servers.
class Daemon {
    asked: string[] = [];
    constructor(private readonly servers: number) {}
    async get<Answer>(path: string): Promise<Answer> {
        this.asked.push(path);
        const after = Number(new URLSearchParams(path.split("?")[1]).get("after") ?? 0);
        const rows = Array.from({ length: Math.min(PAGE_ROWS, this.servers - after) }, (_, at) => ({ id: after + at + 1 }));
        const last = after + rows.length;
        return { servers: rows, next: last < this.servers ? last : null } as Answer;
    }
}

const signal = new AbortController().signal;

it("O-2: pages until there is no next, and tells how it goes", async () => {
    const daemon = new Daemon(2_500);
    const progress: number[] = [];
    const list = await wholeList<{ id: number }>(daemon, "servers", signal, (rows) => progress.push(rows.length));
    expect(list.cut).toBe(false);
    expect(list.rows.map((row) => row.id)).toEqual(Array.from({ length: 2_500 }, (_, at) => at + 1));
    expect(daemon.asked).toEqual(["servers?limit=1000", "servers?limit=1000&after=1000", "servers?limit=1000&after=2000"]);
    expect(progress).toEqual([1000, 2000]);
});

it("stops at its limit and says so", async () => {
    const list = await wholeList(new Daemon(ROWS_MAX + 1), "servers", signal);
    expect(list.rows).toHaveLength(ROWS_MAX);
    expect(list.cut).toBe(true);
});

it("is empty when there is nothing", async () => {
    expect(await wholeList(new Daemon(0), "servers", signal)).toEqual({ rows: [], cut: false });
});
