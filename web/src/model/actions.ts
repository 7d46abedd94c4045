// What an operator can do, each with what it says afterwards. A failure is shown, never thrown.

import { NotSignedIn, type Api } from "../api/api";
import type { Block, Clock } from "../api/shapes";
import { count, foreign, gameTime } from "./format";
import type { Notices } from "./notices";

const DRAIN_MANY_MAX = 5_000;

export class Actions {
    constructor(
        private readonly api: Pick<Api, "send">,
        private readonly notices: Notices,
    ) {}

    drain(server: number, draining: boolean, reason = ""): Promise<boolean> {
        const done = draining ? `Server ${server} is draining: it gets no new match` : `Server ${server} takes matches again`;
        return this.act("POST", `servers/${server}/drain`, reason === "" ? { draining } : { draining, reason }, done, `Server ${server}`);
    }

    // Many at once, in parts that the daemon takes.
    async drainMany(servers: readonly number[], draining: boolean, reason = ""): Promise<boolean> {
        const about = servers.length === 1 ? "1 server" : `${count(servers.length)} servers`;
        for (let at = 0; at < servers.length; at += DRAIN_MANY_MAX) {
            const part = servers.slice(at, at + DRAIN_MANY_MAX);
            const done = draining ? `${about} ${servers.length === 1 ? "is" : "are"} draining: no new match goes there` : `${about} ${servers.length === 1 ? "takes" : "take"} matches again`;
            const body = { draining, servers: part, ...(reason === "" ? {} : { reason }) };
            const last = at + DRAIN_MANY_MAX >= servers.length;
            if (!(await this.act("POST", "servers/drain", body, last ? done : null, about))) return false;
        }
        return true;
    }

    abort(lobby: number, reason: string): Promise<boolean> {
        return this.act("POST", `matches/${lobby}/abort`, { reason }, `The match of lobby ${lobby} was aborted`, `Lobby ${lobby}`);
    }

    kick(player: { id: number; name: string }, reason: string): Promise<boolean> {
        const name = foreign(player.name);
        return this.act("POST", `players/${player.id}/kick`, { reason }, `${name} was kicked`, name);
    }

    // For ever when `seconds` is 0.
    block(kind: Block["kind"], value: string, seconds: number, reason: string): Promise<boolean> {
        const body = { kind, value, ...(seconds === 0 ? {} : { seconds }), ...(reason === "" ? {} : { reason }) };
        const about = `${kind} ${foreign(value)}`;
        return this.act("POST", "blocks", body, `${about} is blocked`, about);
    }

    unblock(kind: Block["kind"], value: string): Promise<boolean> {
        const about = `${kind} ${foreign(value)}`;
        return this.act("POST", "blocks/remove", { kind, value }, `${about} is no longer blocked`, about);
    }

    drainHost(host: string, draining: boolean): Promise<boolean> {
        const name = foreign(host);
        const done = draining ? `Host ${name} is draining: its processes get no new match` : `Host ${name} takes matches again`;
        return this.act("POST", `hosts/${encodeURIComponent(host)}/drain`, { draining }, done, `Host ${name}`);
    }

    forgetHost(host: string): Promise<boolean> {
        const name = foreign(host);
        return this.act("POST", `hosts/${encodeURIComponent(host)}/forget`, {}, `Host ${name} is forgotten until its agent returns`, `Host ${name}`);
    }

    restart(host: string, process: string): Promise<boolean> {
        const name = `${foreign(host)}/${foreign(process)}`;
        return this.act("POST", `hosts/${encodeURIComponent(host)}/processes/${encodeURIComponent(process)}/restart`, {}, `${name} is restarted; a match that it has may finish first`, name);
    }

    moveCell(cell: string, node: string): Promise<boolean> {
        const done = `${foreign(node)} is to own ${foreign(cell)}; peers keep their connections`;
        return this.act("POST", `cells/${encodeURIComponent(cell)}/move`, { node }, done, `Cell ${foreign(cell)}`);
    }

    setClock(clock: Clock): Promise<boolean> {
        return this.act("PUT", "clock", clock, `The world clock was set to ${gameTime(clock)}, speed ${clock.speed}`, "World clock");
    }

    private async act(method: "POST" | "PUT", path: string, body: unknown, done: string | null, about: string): Promise<boolean> {
        try {
            await this.api.send(method, path, body);
            if (done !== null) this.notices.success(done);
            return true;
        } catch (error) {
            if (!(error instanceof NotSignedIn)) this.notices.failure(`${about}: ${error instanceof Error ? error.message : String(error)}`);
            return false;
        }
    }
}
