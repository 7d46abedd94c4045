// Light, dark, or as the system says. The choice is kept in this browser.

import { Store } from "./store";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "muster.theme";

export class ThemeSwitch {
    readonly theme: Store<Theme>;

    constructor(
        private readonly storage: Pick<Storage, "getItem" | "setItem">,
        private readonly root: { dataset: DOMStringMap },
    ) {
        const kept = storage.getItem(KEY);
        this.theme = new Store(THEMES.find((each) => each === kept) ?? "system");
        this.apply();
    }

    choose(theme: Theme): void {
        this.storage.setItem(KEY, theme);
        this.theme.set(theme);
        this.apply();
    }

    private apply(): void {
        this.root.dataset.theme = this.theme.value;
    }
}
