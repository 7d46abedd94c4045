import { expect, it } from "vitest";
import { Actions } from "./actions";
import { Notices } from "./notices";

interface Sent {
    method: string;
    path: string;
    body: unknown;
}

function recorded(): { actions: Actions; notices: Notices; sent: Sent[] } {
    const sent: Sent[] = [];
    const notices = new Notices();
    const api = {
        send: <Answer>(method: "POST" | "PUT", path: string, body: unknown) => {
            sent.push({ method, path, body });
            return Promise.resolve({} as Answer);
        },
    };
    return { actions: new Actions(api, notices), notices, sent };
}

it("O-2: a drain carries the operator's reason, and none where there is none", async () => {
    const { actions, sent } = recorded();
    expect(await actions.drain(3, true, "new kernel")).toBe(true);
    await actions.drain(3, true, "");
    await actions.drain(3, false);
    expect(sent).toEqual([
        { method: "POST", path: "servers/3/drain", body: { draining: true, reason: "new kernel" } },
        { method: "POST", path: "servers/3/drain", body: { draining: true } },
        { method: "POST", path: "servers/3/drain", body: { draining: false } },
    ]);
});

it("O-2: many servers are drained by one request, more than it takes by several", async () => {
    const { actions, notices, sent } = recorded();
    expect(await actions.drainMany([3, 5], true, "rack 7")).toBe(true);
    await actions.drainMany([3], false);
    expect(sent).toEqual([
        { method: "POST", path: "servers/drain", body: { draining: true, servers: [3, 5], reason: "rack 7" } },
        { method: "POST", path: "servers/drain", body: { draining: false, servers: [3] } },
    ]);
    await actions.drainMany(
        Array.from({ length: 5_001 }, (_, at) => at + 1),
        true,
    );
    expect(sent).toHaveLength(4);
    expect((sent[3]?.body as { servers: number[] }).servers).toEqual([5_001]);
    // One word for each wish.
    expect(notices.shown.value.map(({ text }) => text)).toEqual([
        "2 servers are draining: no new match goes there",
        "1 server takes matches again",
        "5,001 servers are draining: no new match goes there",
    ]);
});
