// Who the operator is to the daemon, and what that allows. Asked when the page opens and when a token comes or goes.

import type { Api } from "../api/api";
import type { TokenGate } from "../api/token_gate";
import type { Me } from "../api/shapes";
import { Store } from "./store";

export class Identity {
    // Null until the daemon has said it.
    readonly me = new Store<Me | null>(null);

    constructor(
        private readonly api: Pick<Api, "get">,
        gate: Pick<TokenGate, "held">,
    ) {
        gate.held.watch(() => void this.ask());
        void this.ask();
    }

    async ask(): Promise<void> {
        try {
            this.me.set(await this.api.get<Me>("me"));
        } catch {
            this.me.set(null); // The banner already says why.
        }
    }
}

// Whether the page shows what an operator can do. Who has not said yet who they are is asked when they do it.
export function mayOperate(me: Me | null): boolean {
    if (me === null) return true;
    return me.role === "operator" || me.role === "admin" || (me.name === null && me.token_needed);
}

// Whether it asks for a token when it may need one.
export function maySignIn(me: Me | null): boolean {
    return me !== null && me.name === null && me.token_needed;
}

export function identityText(me: Me): string {
    if (me.name === null) return me.token_needed ? "Not signed in" : "";
    return me.name === me.role ? me.name : `${me.name} · ${me.role}`;
}
