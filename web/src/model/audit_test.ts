import { expect, it } from "vitest";
import { auditRow } from "./audit";

it("S-5: a line of the audit says who did what, when, and from where", () => {
    const event = {
        id: 7,
        time_ms: 1_700_000_000_000,
        type: "operator.action",
        operator: "alice",
        who: "10.0.0.9",
        action: "block",
        target: "ip 203.0.113.7",
        for_seconds: 3600,
        reason: "flood",
    };
    expect(auditRow(event)).toMatchObject({ id: 7, at: 1_700_000_000_000, who: "alice", from: "10.0.0.9", reason: "flood" });
    expect(auditRow(event).what).toMatch(/^block ip 203\.0\.113\.7 for 1/);
});

it("S-5: what was done without a token has no name, but an address", () => {
    const row = auditRow({ id: 1, time_ms: 2, type: "operator.action", who: "127.0.0.1", action: "kick", target: "player 3" });
    expect(row).toMatchObject({ who: "", from: "127.0.0.1", what: "kick player 3", reason: "" });
});
