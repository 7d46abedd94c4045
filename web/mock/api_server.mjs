// The daemon's HTTP side, as far as the page uses it, in front of a pretended world. Headers are as strict as the real ones.

import { readFile } from "node:fs/promises";
import http from "node:http";
import { join } from "node:path";

const LIMIT_USUAL = 100;
const LIMIT_MAX = 1000;
const KEEP_ALIVE_MS = 15_000;
const VERSION = "0.0.0-mock";

const PAGE_FILES = {
    "/": ["index.html", "text/html; charset=utf-8"],
    "/app.js": ["app.js", "text/javascript; charset=utf-8"],
    "/app.css": ["app.css", "text/css; charset=utf-8"],
    "/favicon.svg": ["favicon.svg", "image/svg+xml"],
};
const PAGE_HEADERS = {
    "Content-Security-Policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
};

class Refusal extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

export class ApiServer {
    // `dist` is the folder of the built page. With a token, actions need it; with guardReads, reads too. Whoever has the
    // token of `viewer` may look only.
    constructor(world, { dist, token = "", guardReads = false, viewer = "" }) {
        this.world = world;
        this.dist = dist;
        this.token = token;
        this.guardReads = guardReads;
        this.viewer = viewer;
        this.port = 0;
        this.server = null;
    }

    // Listens on loopback; the same port again after stop().
    start(port = this.port) {
        this.server = http.createServer((request, response) => void this.answer(request, response));
        return new Promise((resolve, reject) => {
            this.server.once("error", reject);
            this.server.listen(port, "127.0.0.1", () => {
                this.port = this.server.address().port;
                resolve(this.port);
            });
        });
    }

    // As a daemon that was killed: every connection ends at once.
    stop() {
        const ended = new Promise((resolve) => this.server.close(resolve));
        this.server.closeAllConnections();
        return ended;
    }

    async answer(request, response) {
        try {
            const url = new URL(request.url, "http://localhost");
            if (!url.pathname.startsWith("/api/v1/")) return await this.page(url.pathname, response);
            this.admit(request);
            const path = url.pathname.slice("/api/v1/".length);
            if (request.method === "GET" && path === "events" && request.headers.accept === "text/event-stream")
                return this.stream(request, response);
            const body = request.method === "GET" ? null : await bodyOf(request);
            if (path === "me") return send(response, 200, this.me(request));
            send(response, 200, this.route(request.method, path, url.searchParams, body));
        } catch (error) {
            send(response, error.status ?? 500, { error: error.message });
        }
    }

    admit(request) {
        const action = request.method !== "GET";
        if (this.token === "" || (!action && !this.guardReads)) return;
        const { authorization } = request.headers;
        if (action && this.isViewer(request)) throw new Refusal(403, "This token's role is viewer; this needs operator");
        if (authorization !== `Bearer ${this.token}` && !this.isViewer(request)) throw new Refusal(401, "Wrong admin token");
    }

    isViewer(request) {
        return this.viewer !== "" && request.headers.authorization === `Bearer ${this.viewer}`;
    }

    me(request) {
        const { authorization } = request.headers;
        const told = { address: "127.0.0.1", token_needed: this.token !== "" };
        if (this.token === "") return { name: null, role: "admin", ...told };
        if (authorization === undefined) return { name: null, role: "viewer", ...told };
        if (this.isViewer(request)) return { name: "bob", role: "viewer", ...told };
        if (authorization !== `Bearer ${this.token}`) throw new Refusal(401, "Wrong admin token");
        return { name: "admin", role: "admin", ...told };
    }

    async page(path, response) {
        const file = PAGE_FILES[path];
        if (file === undefined) throw new Refusal(404, "Not found");
        const bytes = await readFile(join(this.dist, file[0]));
        response.writeHead(200, { ...PAGE_HEADERS, "Content-Type": file[1] });
        response.end(bytes);
    }

    route(method, path, query, body) {
        const { world } = this;
        const now = Date.now();
        const [name, id, verb] = path.split("/");
        const asked = `${method} ${name}${id === undefined ? "" : "/ID"}${verb === undefined ? "" : `/${verb}`}`;
        const done = (found) => {
            if (!found) throw new Refusal(404, "There is none with this id");
            return {};
        };
        switch (asked) {
            case "GET overview":
                return world.overview(VERSION);
            case "GET overview/ID":
                if (id !== "history") throw new Refusal(404, "Not found");
                return world.history();
            case "POST servers/ID":
                if (id !== "drain") throw new Refusal(404, "Not found");
                return world.drainMany(body);
            case "GET cluster":
                return world.cluster();
            case "GET hosts":
                return { hosts: world.hosts(), next: null };
            case "GET operators":
                return { operators: [{ name: "bob", role: "viewer", added_by: "admin (127.0.0.1)", added_at_ms: now - 60_000 }], next: null };
            case "GET blocks":
                return { blocks: [...world.blocks.values()], next: null };
            case "POST blocks":
                return world.block(body);
            case "POST blocks/ID":
                return done(world.unblock(body));
            case "GET matchmakers":
                return { matchmakers: world.matchmakers(), next: null };
            case "GET matches/ID": {
                const match = world.matches.get(Number(id));
                if (!match) throw new Refusal(404, "No such match");
                return { ...world.matchView(match), players: match.players };
            }
            case "GET servers":
                return listed("servers", [...world.servers.values()], (server) => server.id, query, (server) => world.serverView(server, now));
            case "GET servers/ID": {
                const server = world.servers.get(Number(id));
                if (!server) throw new Refusal(404, "There is no such server");
                return { ...world.serverView(server, now), history: server.history };
            }
            case "GET matches":
                return listed("matches", [...world.matches.values()], (match) => match.lobby_id, query, (match) => world.matchView(match));
            case "GET players":
                return listed("players", [...world.players.values()], (player) => player.id, query, (player) => world.playerView(player, now));
            case "GET clock":
                return world.clockView();
            case "GET events":
                return this.history(query);
            case "PUT clock":
                world.setClock(body);
                return world.clockView();
            case "POST servers/ID/drain":
                return done(world.drain(Number(id), body.draining, body.reason));
            case "POST matches/ID/abort":
                return done(world.abort(Number(id), body.reason));
            case "POST players/ID/kick":
                return done(world.kick(Number(id), body.reason));
            default:
                throw new Refusal(404, "Not found");
        }
    }

    // The newest, or those before an id; oldest first.
    history(query) {
        const limit = limitOf(query);
        const before = Number(query.get("before") ?? Infinity);
        const types = (query.get("type") ?? "").split(",");
        const about = ["server", "lobby", "player"].filter((name) => query.has(name));
        const since = Number(query.get("since_ms") ?? 0);
        const found = this.world.events.filter(
            (event) =>
                event.id < before &&
                event.time_ms >= since &&
                types.some((type) => event.type.startsWith(type)) &&
                about.every((name) => event[`${name}_id`] === Number(query.get(name))),
        );
        const events = found.slice(-limit);
        return { events, next: null, previous: found.length > limit ? events[0].id : null };
    }

    stream(request, response) {
        response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
        const write = (event) => response.write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        response.write("retry: 2000\n\n");
        const after = Number(request.headers["last-event-id"] ?? Infinity);
        for (const event of this.world.events) if (event.id > after) write(event);
        const timer = setInterval(() => response.write(": still here\n\n"), KEEP_ALIVE_MS);
        this.world.listeners.add(write);
        response.on("close", () => {
            clearInterval(timer);
            this.world.listeners.delete(write);
        });
    }
}

function limitOf(query) {
    const limit = Number(query.get("limit") ?? LIMIT_USUAL);
    if (!(limit >= 1 && limit <= LIMIT_MAX)) throw new Refusal(400, `limit is 1 to ${LIMIT_MAX}`);
    return limit;
}

function listed(name, rows, idOf, query, view) {
    const limit = limitOf(query);
    const after = Number(query.get("after") ?? -1);
    const found = rows.filter((row) => idOf(row) > after).sort((left, right) => idOf(left) - idOf(right));
    const page = found.slice(0, limit);
    return { [name]: page.map(view), next: found.length > limit ? idOf(page.at(-1)) : null };
}

async function bodyOf(request) {
    if (request.headers["content-type"] !== "application/json") throw new Refusal(400, "Content-Type must be application/json");
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    return JSON.parse(Buffer.concat(pieces).toString("utf8"));
}

function send(response, status, body) {
    response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" });
    response.end(JSON.stringify(body));
}
