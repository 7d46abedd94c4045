// Follows the address bar.

import { readRoute, routeTo, type Route } from "./route";
import { Store } from "./store";

export class RouteWatch {
    readonly route: Store<Route>;

    constructor(private readonly window: Window) {
        this.route = new Store(readRoute(window.location.hash));
        window.addEventListener("hashchange", () => this.route.set(readRoute(window.location.hash)));
    }

    // Changes one filter of the view, without a step in the browser's history for every letter typed.
    filter(name: string, value: string): void {
        const { view, filter } = this.route.value;
        const hash = routeTo(view, { ...filter, [name]: value });
        this.window.history.replaceState(null, "", hash);
        this.route.set(readRoute(hash));
    }
}
