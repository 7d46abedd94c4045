import { describe, expect, it } from "vitest";
import { Api, NotSignedIn, Refused, Unreachable } from "./api";
import { TokenGate } from "./token_gate";

const json = (status: number, body: unknown) => new Response(JSON.stringify(body), { status });
const header = (init: RequestInit, name: string) => (init.headers as Record<string, string>)[name];

function talking(answer: (path: string, init: RequestInit) => Response | Promise<Response>) {
    const gate = new TokenGate();
    const sent: Array<{ path: string; init: RequestInit }> = [];
    const api = new Api(gate, async (path, init) => {
        sent.push({ path, init });
        return answer(path, init);
    });
    return { api, gate, sent };
}

describe("fault 70: the admin token", () => {
    const guarded = (_: string, init: RequestInit) =>
        header(init, "Authorization") === "Bearer right" ? json(200, { ok: true }) : json(401, { error: "no" });

    it("is asked for at a 401, sent in a header, and kept", async () => {
        const { api, gate, sent } = talking(guarded);
        const answer = api.get("overview");
        await until(() => gate.question.value !== null);
        expect(gate.question.value).toEqual({ wrong: false });
        gate.enter("right");
        expect(await answer).toEqual({ ok: true });
        expect(await api.get("overview")).toEqual({ ok: true });
        expect(sent.map(({ init }) => header(init, "Authorization"))).toEqual([undefined, "Bearer right", "Bearer right"]);
        expect(sent.every(({ path }) => !path.includes("right"))).toBe(true);
    });

    it("is asked for once for all who wait", async () => {
        const { api, gate } = talking(guarded);
        const answers = Promise.all([api.get("overview"), api.get("servers")]);
        await until(() => gate.question.value !== null);
        gate.enter("right");
        expect(await answers).toHaveLength(2);
        expect(gate.question.value).toBeNull();
    });

    it("is forgotten and asked for again when it was wrong", async () => {
        const { api, gate } = talking(guarded);
        const answer = api.get("overview");
        await until(() => gate.question.value !== null);
        gate.enter("wrong");
        await until(() => gate.question.value !== null);
        expect(gate.question.value).toEqual({ wrong: true });
        expect(gate.held.value).toBe(false);
        gate.enter("right");
        expect(await answer).toEqual({ ok: true });
    });

    it("may be declined, and then nothing more is sent", async () => {
        const { api, gate, sent } = talking(guarded);
        const answer = api.get("overview");
        await until(() => gate.question.value !== null);
        gate.decline();
        await expect(answer).rejects.toBeInstanceOf(NotSignedIn);
        expect(sent).toHaveLength(1);
    });
});

describe("answers", () => {
    it("an action carries its body as JSON", async () => {
        const { api, sent } = talking(() => json(200, {}));
        await api.send("POST", "servers/3/drain", { draining: true });
        expect(sent[0]?.path).toBe("api/v1/servers/3/drain");
        expect(sent[0]?.init.method).toBe("POST");
        expect(header(sent[0]?.init ?? {}, "Content-Type")).toBe("application/json");
        expect(sent[0]?.init.body).toBe('{"draining":true}');
    });

    it("a refusal has its status and the daemon's words, or the status alone", async () => {
        const told = talking(() => json(409, { error: "Match already ended" }));
        await expect(told.api.get("x")).rejects.toEqual(new Refused(409, "Match already ended"));
        const page = talking(() => new Response("<html>", { status: 502 }));
        await expect(page.api.get("x")).rejects.toMatchObject({ status: 502, message: "HTTP 502" });
    });

    it("no answer is told apart from a refusal", async () => {
        const { api } = talking(() => Promise.reject(new TypeError("Failed to fetch")));
        await expect(api.get("x")).rejects.toBeInstanceOf(Unreachable);
    });

    it("an empty answer is null", async () => {
        const { api } = talking(() => new Response(null, { status: 204 }));
        expect(await api.get("x")).toBeNull();
    });

    it("O-2: the live events are asked for after the last one seen", async () => {
        const { api, sent } = talking(() => new Response("data: x\n\n"));
        await api.events("17", new AbortController().signal);
        expect(header(sent[0]?.init ?? {}, "Last-Event-ID")).toBe("17");
        expect(header(sent[0]?.init ?? {}, "Accept")).toBe("text/event-stream");
    });
});

async function until(true_now: () => boolean): Promise<void> {
    for (let turn = 0; turn < 1000 && !true_now(); ++turn) await Promise.resolve();
    expect(true_now()).toBe(true);
}
