// Where in the page the operator is: the part of the address after #. It can be kept, sent to a colleague, and gone back from.

export const VIEWS = ["overview", "servers", "matches", "players", "events"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
    view: View;
    // The one server that is looked at, in the servers view.
    server: number | null;
    filter: Record<string, string>;
}

export function readRoute(hash: string): Route {
    const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
    const [name = "", id = ""] = path.split("/");
    const view = VIEWS.find((each) => each === name) ?? "overview";
    const server = view === "servers" && /^[0-9]{1,10}$/.test(id) ? Number(id) : null;
    return { view, server, filter: Object.fromEntries(new URLSearchParams(query)) };
}

// The address of a view; empty filters are left out.
export function routeTo(view: View, filter: Record<string, string | number> = {}): string {
    const kept = Object.entries(filter).filter(([, value]) => value !== "");
    const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
    return `#/${view === "overview" ? "" : view}${query === "" ? "" : `?${query}`}`;
}

export function routeToServer(id: number): string {
    return `#/servers/${id}`;
}
