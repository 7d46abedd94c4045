// What an operator can do, each with what it says afterwards. A failure is shown, never thrown.

import { NotSignedIn, type Api } from "../api/api";
import type { Clock } from "../api/shapes";
import { foreign, gameTime } from "./format";
import type { Notices } from "./notices";

export class Actions {
    constructor(
        private readonly api: Pick<Api, "send">,
        private readonly notices: Notices,
    ) {}

    drain(server: number, draining: boolean, reason = ""): Promise<boolean> {
        const done = draining ? `Server ${server} is draining: it gets no new match` : `Server ${server} takes matches again`;
        return this.act("POST", `servers/${server}/drain`, reason === "" ? { draining } : { draining, reason }, done, `Server ${server}`);
    }

    abort(lobby: number, reason: string): Promise<boolean> {
        return this.act("POST", `matches/${lobby}/abort`, { reason }, `The match of lobby ${lobby} was aborted`, `Lobby ${lobby}`);
    }

    kick(player: { id: number; name: string }, reason: string): Promise<boolean> {
        const name = foreign(player.name);
        return this.act("POST", `players/${player.id}/kick`, { reason }, `${name} was kicked`, name);
    }

    setClock(clock: Clock): Promise<boolean> {
        return this.act("PUT", "clock", clock, `The world clock was set to ${gameTime(clock)}, speed ${clock.speed}`, "World clock");
    }

    private async act(method: "POST" | "PUT", path: string, body: unknown, done: string, about: string): Promise<boolean> {
        try {
            await this.api.send(method, path, body);
            this.notices.success(done);
            return true;
        } catch (error) {
            if (!(error instanceof NotSignedIn)) this.notices.failure(`${about}: ${error instanceof Error ? error.message : String(error)}`);
            return false;
        }
    }
}
