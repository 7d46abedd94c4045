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
