// A question before something that matters, and the reason that goes with it.

import { Store } from "./store";

export interface ConfirmQuestion {
    title: string;
    text: string;
    // What the button says that does it.
    action: string;
    // The reason that stands in the field at first.
    reason: string;
    // It cannot be undone.
    hurts: boolean;
}

export class Confirmation {
    readonly question = new Store<ConfirmQuestion | null>(null);
    private resolve: ((reason: string | null) => void) | null = null;

    // The reason the operator gave, or null when they thought better of it.
    ask(question: ConfirmQuestion): Promise<string | null> {
        this.answer(null);
        this.question.set(question);
        return new Promise((resolve) => (this.resolve = resolve));
    }

    answer(reason: string | null): void {
        const resolve = this.resolve;
        this.resolve = null;
        this.question.set(null);
        resolve?.(reason);
    }
}
