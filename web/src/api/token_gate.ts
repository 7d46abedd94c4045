// The operator's token: asked for once when the daemon wants one, kept in this page's memory and nowhere else.

import { Store } from "../model/store";

// What the dialog shows. `wrong` when the token we had was not accepted.
export interface TokenQuestion {
    wrong: boolean;
}

export class TokenGate {
    // The open question, or null. The dialog shows itself by this.
    readonly question = new Store<TokenQuestion | null>(null);
    readonly held = new Store(false);

    private kept = "";
    private waiting: Array<(entered: boolean) => void> = [];

    token(): string {
        return this.kept;
    }

    // Asks the operator; all who ask while the question is open get the same answer. False when they decline.
    ask(wrong: boolean): Promise<boolean> {
        if (wrong) this.forget();
        if (this.question.value === null) this.question.set({ wrong });
        return new Promise((resolve) => this.waiting.push(resolve));
    }

    enter(token: string): void {
        this.kept = token;
        this.held.set(true);
        this.answer(true);
    }

    decline(): void {
        this.answer(false);
    }

    forget(): void {
        this.kept = "";
        this.held.set(false);
    }

    private answer(entered: boolean): void {
        const waiting = this.waiting;
        this.waiting = [];
        this.question.set(null);
        for (const resolve of waiting) resolve(entered);
    }
}
