// A line of the audit from an event.

import type { FleetEvent } from "../api/shapes";
import { duration } from "./format";

export interface AuditRow {
    id: number;
    at: number;
    // Empty: somebody on the daemon's own machine, without a token.
    who: string;
    from: string;
    what: string;
    reason: string;
}

const text = (value: unknown) => (typeof value === "string" ? value : "");

export function auditRow(event: FleetEvent): AuditRow {
    const length = typeof event.for_seconds === "number" ? ` for ${duration(1000 * event.for_seconds)}` : "";
    return {
        id: event.id,
        at: event.time_ms,
        who: text(event.operator),
        from: text(event.who),
        what: `${text(event.action)} ${text(event.target)}${length}`.trim(),
        reason: text(event.reason),
    };
}
