// The admin token: asked of the operator when the daemon wants one, kept for this tab's session and nowhere else.

import { Store } from "../model/store";

const KEY = "muster.admin_token";

// What the dialog shows. `wrong` when the token we had was not accepted.
export interface TokenQuestion {
    wrong: boolean;
}

export class TokenGate {
    // The open question, or null. The dialog shows itself by this.
    readonly question = new Store<TokenQuestion | null>(null);
    readonly held: Store<boolean>;

    private waiting: Array<(entered: boolean) => void> = [];

    constructor(private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">) {
        this.held = new Store(this.token() !== "");
    }

    token(): string {
        return this.storage.getItem(KEY) ?? "";
    }

    // Asks the operator; all who ask while the question is open get the same answer. False when they decline.
    ask(wrong: boolean): Promise<boolean> {
        if (wrong) this.forget();
        if (this.question.value === null) this.question.set({ wrong });
        return new Promise((resolve) => this.waiting.push(resolve));
    }

    enter(token: string): void {
        this.storage.setItem(KEY, token);
        this.held.set(true);
        this.answer(true);
    }

    decline(): void {
        this.answer(false);
    }

    forget(): void {
        this.storage.removeItem(KEY);
        this.held.set(false);
    }

    private answer(entered: boolean): void {
        const waiting = this.waiting;
        this.waiting = [];
        this.question.set(null);
        for (const resolve of waiting) resolve(entered);
    }
}
