// Where in the page the operator is: the part of the address after #. It can be kept, sent to a colleague, and gone back from.

export const VIEWS = ["overview", "servers", "matches", "players", "hosts", "matchmakers", "events", "cluster", "access"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
    view: View;
    // The one server or lobby that is looked at, in the view of servers or matches.
    server: number | null;
    lobby: number | null;
    filter: Record<string, string>;
}

export function readRoute(hash: string): Route {
    const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
    const [name = "", id = ""] = path.split("/");
    const view = VIEWS.find((each) => each === name) ?? "overview";
    const number = /^[0-9]{1,10}$/.test(id) ? Number(id) : null;
    return { view, server: view === "servers" ? number : null, lobby: view === "matches" ? number : null, filter: Object.fromEntries(new URLSearchParams(query)) };
}

// The address of a view; empty filters are left out.
export function routeTo(view: View, filter: Record<string, string | number> = {}): string {
    const kept = Object.entries(filter).filter(([, value]) => value !== "");
    const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
    return `#/${view === "overview" ? "" : view}${query === "" ? "" : `?${query}`}`;
}

export function routeToMatch(lobby: number): string {
    return `#/matches/${lobby}`;
}

// The events of one server, lobby or player.
export function routeToEvents(subject: { server: number } | { lobby: number } | { player: number }): string {
    return routeTo("events", { ...subject });
}

export function routeToServer(id: number): string {
    return `#/servers/${id}`;
}
