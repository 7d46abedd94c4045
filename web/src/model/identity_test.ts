import { expect, it } from "vitest";
import type { Me } from "../api/shapes";
import { Identity, identityText, mayOperate, maySignIn } from "./identity";
import { Store } from "./store";

const me = (name: string | null, role: Me["role"], token_needed = true): Me => ({ name, role, address: "127.0.0.1", token_needed });

it("S-5: a viewer and a matchmaker see no actions; whoever has not signed in is asked when they act", () => {
    expect(mayOperate(me("bob", "viewer"))).toBe(false);
    expect(mayOperate(me("mm", "matchmaker"))).toBe(false);
    expect(mayOperate(me("alice", "operator"))).toBe(true);
    expect(mayOperate(me("admin", "admin"))).toBe(true);
    expect(mayOperate(me(null, "viewer"))).toBe(true);
    expect(mayOperate(me(null, "admin", false))).toBe(true);
    expect(maySignIn(me(null, "viewer"))).toBe(true);
    expect(maySignIn(me("bob", "viewer"))).toBe(false);
    expect(maySignIn(me(null, "admin", false))).toBe(false);
});

it("S-5: the page says who one is", () => {
    expect(identityText(me("alice", "operator"))).toBe("alice · operator");
    expect(identityText(me("admin", "admin"))).toBe("admin");
    expect(identityText(me(null, "viewer"))).toBe("Not signed in");
    expect(identityText(me(null, "admin", false))).toBe("");
});

it("S-5: it is asked again when a token comes or goes", async () => {
    const held = new Store(false);
    const answers = [me(null, "viewer"), me("alice", "operator")];
    const identity = new Identity({ get: <Answer>() => Promise.resolve(answers.shift() as Answer) }, { held });
    await Promise.resolve();
    await Promise.resolve();
    expect(identity.me.value?.name).toBe(null);
    held.set(true);
    await Promise.resolve();
    await Promise.resolve();
    expect(identity.me.value?.name).toBe("alice");
});
