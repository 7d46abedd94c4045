// Short messages about what the operator did: a success goes by itself, a failure stays until it is put away.

import { Store } from "./store";

export const SUCCESS_SHOWN_MS = 6_000;
const NOTICES_MAX = 5;

export interface Notice {
    id: number;
    failed: boolean;
    text: string;
}

export class Notices {
    readonly shown = new Store<readonly Notice[]>([]);
    private nextId = 1;

    success(text: string): void {
        const { id } = this.add(false, text);
        setTimeout(() => this.dismiss(id), SUCCESS_SHOWN_MS);
    }

    failure(text: string): void {
        this.add(true, text);
    }

    dismiss(id: number): void {
        this.shown.set(this.shown.value.filter((notice) => notice.id !== id));
    }

    private add(failed: boolean, text: string): Notice {
        const notice = { id: this.nextId++, failed, text };
        this.shown.set([...this.shown.value, notice].slice(-NOTICES_MAX));
        return notice;
    }
}
