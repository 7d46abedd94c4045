// Speaks to the daemon's HTTP API: one deadline per request, the admin token where there is one, errors in words.

import type { TokenGate } from "./token_gate";

export const REQUEST_DEADLINE_MS = 10_000;

// The daemon answered, and the answer is no.
export class Refused extends Error {
    constructor(
        readonly status: number,
        message: string,
    ) {
        super(message);
    }
}

// The daemon did not answer: not there, or too slow.
export class Unreachable extends Error {}

// The operator closed the question for the admin token.
export class NotSignedIn extends Error {
    constructor() {
        super("The admin token is needed for this");
    }
}

type Fetch = (path: string, init: RequestInit) => Promise<Response>;

export class Api {
    constructor(
        private readonly gate: TokenGate,
        private readonly fetch: Fetch = (path, init) => globalThis.fetch(path, init),
    ) {}

    get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
        return this.ask<Answer>(path, { headers: { Accept: "application/json" } }, signal);
    }

    send<Answer>(method: "POST" | "PUT", path: string, body: unknown): Promise<Answer> {
        const headers = { Accept: "application/json", "Content-Type": "application/json" };
        return this.ask<Answer>(path, { method, headers, body: JSON.stringify(body) });
    }

    // An open stream of server-sent events; it ends when the caller aborts it.
    async events(after: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
        const headers: Record<string, string> = { Accept: "text/event-stream" };
        if (after !== "") headers["Last-Event-ID"] = after;
        const response = await this.authorised("events", { headers }, () => signal);
        if (response.body === null) throw new Unreachable("The event stream has no body");
        return response.body;
    }

    private async ask<Answer>(path: string, init: RequestInit, signal?: AbortSignal): Promise<Answer> {
        const response = await this.authorised(path, init, () => {
            const deadline = AbortSignal.timeout(REQUEST_DEADLINE_MS);
            return signal ? AbortSignal.any([signal, deadline]) : deadline;
        });
        const text = await response.text().catch((error: unknown) => {
            throw new Unreachable(reasonOf(error));
        });
        return (text === "" ? null : JSON.parse(text)) as Answer;
    }

    // Sends it, and asks the operator for the token as often as the daemon says that it is missing or wrong. Each attempt
    // has a signal of its own: a deadline must not run while a person is typing.
    private async authorised(path: string, init: RequestInit, signal: () => AbortSignal): Promise<Response> {
        for (;;) {
            const token = this.gate.token();
            const response = await this.once(path, { ...init, signal: signal() }, token);
            if (response.ok) return response;
            const message = await errorText(response);
            if (response.status !== 401) throw new Refused(response.status, message);
            // The token may have been entered for another request while this one was under way.
            if (this.gate.token() === token && !(await this.gate.ask(token !== ""))) throw new NotSignedIn();
        }
    }

    private async once(path: string, init: RequestInit, token: string): Promise<Response> {
        const headers = { ...(init.headers as Record<string, string>) };
        if (token !== "") headers.Authorization = `Bearer ${token}`;
        try {
            return await this.fetch(`api/v1/${path}`, { ...init, headers, cache: "no-store", credentials: "omit", redirect: "error" });
        } catch (error) {
            throw new Unreachable(reasonOf(error));
        }
    }
}

async function errorText(response: Response): Promise<string> {
    try {
        const body: unknown = await response.json();
        if (typeof body === "object" && body !== null && "error" in body && typeof body.error === "string") return body.error;
    } catch {
        // Not JSON: a proxy's page, say. The status is all there is to tell.
    }
    return `HTTP ${response.status}`;
}

function reasonOf(error: unknown): string {
    if (error instanceof DOMException && error.name === "TimeoutError") return `no answer within ${REQUEST_DEADLINE_MS / 1000} s`;
    return error instanceof Error ? error.message : String(error);
}
