// A pretended fleet: enough of Muster's outside to work on the page without a daemon. It moves when it is told to.

export const REGIONS = [
    { id: 0, name: "USE" },
    { id: 1, name: "USW" },
    { id: 2, name: "EU" },
    { id: 9, name: "RU" },
    { id: 11, name: "AU" },
    { id: 15, name: "BR" },
];
// By code where they are counted, in words where they are told.
const REASONS = {
    no_servers_available: "No servers available",
    server_allocation_timeout: "Server allocation timeout",
    server_busy: "Server busy",
};
const BUCKETS_MS = [5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 1000, 2500];
const TIME_BUCKETS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000];
const HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "\u001b[31mred\u001b[0m\u0007",
    '"><script>alert(2)</script>',
    "\u202Egnp.exe",
    "javascript:alert(3)//",
    "Ünïcødé 玩家",
];
const EVENTS_KEPT = 5_000;
const OVER_KEPT = 200;
const HISTORY_KEPT = 60;
const SAMPLE_EVERY_MS = 2_000;
const SAMPLES_KEPT = 300;

export class World {
    constructor({ servers = 60, players = 400, matchesPerSecond = 6, hostile = false } = {}) {
        this.random = generator(7);
        this.matchesPerSecond = matchesPerSecond;
        this.started = Date.now();
        this.servers = new Map();
        this.matches = new Map();
        this.players = new Map();
        this.blocks = new Map();
        this.events = [];
        this.listeners = new Set();
        this.nextServer = 1;
        this.nextLobby = 1000;
        this.nextPlayer = 1;
        this.nextEvent = 1;
        this.totals = { requests: 0, successes: 0, retries: 0, failures: {} };
        this.regionTotals = new Map(REGIONS.map(({ id }) => [id, { requests: 0, failures: 0, retries: 0 }]));
        this.times = []; // of the last allocations, ms
        this.timeCounts = [...TIME_BUCKETS_MS, Infinity].map(() => 0);
        this.clock = { minutes: 8 * 60 + 15, speed: 60 };
        this.echoes = [...BUCKETS_MS, Infinity].map(() => 0);
        this.overruns = 0;
        this.storeUp = true;
        this.samples = [];
        for (let i = 0; i < servers; ++i) this.join({ region: this.pick(REGIONS).id });
        for (let i = 0; i < players; ++i) this.login(`player-${this.nextPlayer}`);
        if (hostile) for (const name of HOSTILE) this.login(name);
    }

    join({ region = 2, ip = `10.${region}.${(this.nextServer >> 8) & 255}.${this.nextServer & 255}`, port = 27015, max = 10 } = {}) {
        const server = {
            id: this.nextServer++,
            ip,
            port,
            region,
            max_matches: max,
            cpu: 5 + 20 * this.random(),
            memory: 20 + 30 * this.random(),
            draining: false,
            drained_by_operator: false,
            drain: null,
            connected: true,
            epoch: 1,
            choices: 0,
            registered_at_ms: Date.now(),
            heartbeat_at: Date.now() - 10_000 * this.random(),
            rtt_ms: 5 + 60 * this.random(),
            jitter_ms: 2 * this.random(),
            held: 0,
            history: [],
        };
        this.servers.set(server.id, server);
        this.note("server.registered", { server_id: server.id, region, endpoint: `${ip}:${port}`, max_matches: max, epoch: 1 });
        return server.id;
    }

    login(name) {
        const player = {
            id: this.nextPlayer++,
            name,
            connected: true,
            idle: this.random() < 0.05,
            latency_ms: Math.exp(3 + 1.2 * this.random() + this.random()),
            jitter_ms: 6 * this.random(),
            connected_at_ms: Date.now() - Math.floor(3_600_000 * this.random()),
            heard_at: Date.now() - 5_000 * this.random(),
            failed_heartbeats: 0,
            lobby_id: null,
        };
        player.entity = player.id + 500_000;
        this.players.set(player.id, player);
        this.echo(player);
        this.note("player.login", { player_id: player.id, name, entity: player.entity });
        return player.id;
    }

    // A ping came back.
    echo({ latency_ms }) {
        ++this.echoes[bucketOf(BUCKETS_MS, latency_ms)];
    }

    // One step of pretended life. `seconds` since the one before.
    step(seconds) {
        const now = Date.now();
        this.clock.minutes += (seconds / 60) * this.clock.speed;
        for (const server of this.servers.values()) {
            if (!server.connected) continue;
            if (now - server.heartbeat_at > 10_000) this.heartbeat(server, now);
        }
        const wave = 1 + 0.5 * Math.sin(now / 40_000);
        let due = this.matchesPerSecond * wave * seconds;
        for (; due > this.random(); --due) this.allocate(this.pick(REGIONS).id);
        for (const match of this.matches.values()) this.advance(match, now);
        for (const player of this.players.values()) if (this.random() < seconds / 30) this.echo(player);
        if (this.random() < 0.15 * seconds) this.fail();
        if (this.random() < 0.8 * seconds) this.stir();
        if (this.random() < 0.02 * seconds) ++this.overruns;
        // A busy machine may hold this program up for seconds; a daemon's samples have no such holes.
        let last = this.samples.at(-1)?.time_ms ?? now - SAMPLE_EVERY_MS;
        for (; now - last >= SAMPLE_EVERY_MS; last += SAMPLE_EVERY_MS) this.sample(last + SAMPLE_EVERY_MS);
    }

    // What a page that is opened later can show of the past.
    sample(now) {
        const { totals } = this;
        const regions = this.regionViews();
        this.samples.push({
            time_ms: now,
            uptime_s: Math.floor((now - this.started) / 1000),
            requests: totals.requests,
            successes: totals.successes,
            retries: totals.retries,
            failures: { ...totals.failures },
            allocation_counts: [...this.timeCounts],
            player_counts: [...this.echoes],
            load: regions.reduce((sum, region) => sum + region.load, 0),
            capacity: regions.reduce((sum, region) => sum + region.capacity, 0),
            players: this.players.size,
            idle: [...this.players.values()].filter((player) => player.idle).length,
            tick_avg_ms: 0.2 + 0.1 * this.random(),
            tick_max_ms: 1 + 3 * this.random() ** 4,
            regions: regions.map(({ id, requests, failures }) => ({ id, requests, failures })),
        });
        if (this.samples.length > SAMPLES_KEPT) this.samples.shift();
    }

    // As if the samples were taken over the last `seconds`.
    pretendPast(seconds) {
        const past = [];
        const rate = this.matchesPerSecond;
        this.matchesPerSecond = 0.1; // no match ends meanwhile
        this.started -= seconds * 1000;
        for (let at = Date.now() - seconds * 1000; at < Date.now(); at += SAMPLE_EVERY_MS) {
            this.samples = [{ time_ms: Infinity }];
            this.step(SAMPLE_EVERY_MS / 1000);
            this.samples = [];
            this.sample(at);
            past.push(...this.samples);
        }
        this.matchesPerSecond = rate;
        this.samples = past.slice(-SAMPLES_KEPT);
    }

    history() {
        return { every_ms: SAMPLE_EVERY_MS, allocation_buckets_ms: TIME_BUCKETS_MS, player_buckets_ms: BUCKETS_MS, samples: this.samples };
    }

    matchmakers() {
        return ["chat-1", "ranked-eu"].map((id) => ({ id, regions: REGIONS.map((region) => region.id), last_seen_ms_ago: Date.now() % 30_000 }));
    }

    // Three nodes: one is lost, and another than the one that is asked owns the cell.
    cluster() {
        return {
            node: "two",
            nodes: [
                { name: "one", address: "10.0.0.1:11030", version: "0.1.0", alive: false },
                { name: "two", address: "10.0.0.2:11030", version: "0.1.0", alive: true },
                { name: "three", address: "10.0.0.3:11030", version: "0.1.0", alive: true },
            ],
            cells: [{ name: "main", regions: [0, 1, 2], players: true, owner: "three", term: 7, batch: 40_123, since_ms: Date.now() - 90_000 }],
            engine_ms: 0.8,
        };
    }

    // Two machines: one at work, and one that is lost.
    hosts() {
        const process = (name, state, more = {}) => ({ name, run: "arena", state, pid: 4711, port: 7001, server_id: null, started_at_ms: this.startedAt ?? 1, restarts: 0, last_exit: null, ...more });
        const exit = { code: null, signal: 9, at_ms: Date.now() - 60_000, reason: "signal 9 (SIGKILL)", last_lines: "loading map dust\nout of memory" };
        const host = { address: "203.0.113.7", region: REGIONS[0].id, connected: true, draining: false, version: "1.0", cpu: 12.5, memory: 40, joined_at_ms: Date.now() - 3_600_000, lost_at_ms: null };
        const crashing = process("arena-2", "crash_loop", { pid: null, restarts: 5, last_exit: exit });
        return [
            { name: "eu-1", ...host, processes: [process("arena-1", "ready"), crashing] },
            { name: "eu-2", ...host, connected: false, lost_at_ms: Date.now() - 30_000, processes: [process("arena-1", "ready")] },
        ];
    }

    heartbeat(server, now) {
        server.heartbeat_at = now;
        const use = server.held / server.max_matches;
        server.cpu = Math.min(100, 5 + 70 * use + 15 * this.random());
        server.memory = Math.min(100, 20 + 50 * use + 5 * this.random());
        server.rtt_ms = Math.max(1, server.rtt_ms + 4 * (this.random() - 0.5));
        server.history.push({ time_ms: now, matches: server.held, cpu: server.cpu, memory: server.memory, rtt_ms: server.rtt_ms });
        if (server.history.length > HISTORY_KEPT) server.history.shift();
    }

    allocate(region) {
        const free = [...this.servers.values()].filter((server) => server.region === region && statusOf(server) === "available");
        if (free.length === 0 || this.random() < 0.01) {
            this.refuse(region, free.length === 0 ? "no_servers_available" : this.pick(Object.keys(REASONS)));
            return;
        }
        const lobby = this.nextLobby++;
        const server = free.reduce((best, each) => (each.held < best.held ? each : best));
        this.take(lobby, server);
    }

    // A request that fails; why, in words.
    refuse(region, reason) {
        this.asked(region);
        this.totals.failures[reason] = (this.totals.failures[reason] ?? 0) + 1;
        ++this.regionTotals.get(region).failures;
        this.note("match.refused", { lobby_id: this.nextLobby++, region, reason: REASONS[reason], seconds: 0 });
        return REASONS[reason];
    }

    asked(region) {
        ++this.totals.requests;
        ++this.regionTotals.get(region).requests;
    }

    // A match that nothing goes wrong with; its lobby.
    give(region) {
        const lobby = this.nextLobby++;
        this.take(lobby, this.servers.get(this.join({ region })));
        return lobby;
    }

    take(lobby, server) {
        const { region } = server;
        this.asked(region);
        ++server.held;
        ++server.choices;
        const took = Math.exp(5 + 1.2 * (this.random() + this.random() + this.random() - 1.5));
        this.times.push(took);
        ++this.timeCounts[bucketOf(TIME_BUCKETS_MS, took)];
        if (this.times.length > 500) this.times.shift();
        ++this.totals.successes;
        if (took > 800) {
            ++this.totals.retries;
            ++this.regionTotals.get(region).retries;
        }
        const now = Date.now();
        this.matches.set(lobby, {
            lobby_id: lobby,
            server_id: server.id,
            matchmaker: "chat-1",
            region,
            state: "allocated",
            reason: "",
            player_count: 10,
            tokens_used: 0,
            players: [],
            game_type: 0,
            game_mode: 0,
            average_rating: 1500,
            requested_at_ms: now,
            allocated_at_ms: now,
            ready_at_ms: null,
            started_at_ms: null,
            ended_at_ms: null,
            due: now + 2_000 + 4_000 * this.random(),
        });
        const free = [...this.servers.values()].filter((each) => each.region === region && each !== server && statusOf(each) === "available");
        const others = free.slice(0, 3).map((each, at) => ({ id: each.id, score: score(each) - at, load: each.held }));
        if (took > 800 && others.length > 0) {
            this.note("match.offered", { lobby_id: lobby, region, server_id: others[0].id, attempt: 1, candidates: free.length + 1, score: others[0].score + 2, load: others[0].load, next_best: others.slice(1) });
            this.note("match.declined", { lobby_id: lobby, server_id: others[0].id, reason: "refused by the server" });
        }
        this.note("match.offered", { lobby_id: lobby, region, server_id: server.id, attempt: took > 800 && others.length > 0 ? 2 : 1, candidates: free.length + 1, score: score(server), load: server.held - 1, next_best: others.slice(1) });
        this.note("match.allocated", { lobby_id: lobby, region, server_id: server.id, matchmaker: "chat-1" });
    }

    advance(match, now) {
        if (now < match.due) return;
        if (match.state === "allocated") {
            match.state = "ready";
            match.due = now + 3_000;
            this.note("match.ready", { lobby_id: match.lobby_id, server_id: match.server_id });
        } else if (match.state === "ready") {
            match.state = "started";
            for (const player of [...this.players.values()].filter((each) => each.lobby_id === null).slice(0, match.player_count)) {
                player.lobby_id = match.lobby_id;
                match.players.push({ id: player.id, joined_at_ms: now - 500 });
            }
            match.tokens_used = match.players.length;
            match.started_at_ms = now;
            match.due = now + 20_000 + 60_000 * this.random();
            this.note("match.started", { lobby_id: match.lobby_id, server_id: match.server_id });
        } else if (match.state === "started") {
            this.over(match, "ended", "");
        }
    }

    over(match, state, reason) {
        match.state = state;
        match.reason = reason;
        match.due = Infinity;
        match.ended_at_ms = Date.now();
        for (const { id } of match.players) if (this.players.get(id)?.lobby_id === match.lobby_id) this.players.get(id).lobby_id = null;
        const server = this.servers.get(match.server_id);
        if (server) server.held = Math.max(0, server.held - 1);
        this.note(`match.${state}`, { lobby_id: match.lobby_id, server_id: match.server_id, reason });
        const over = [...this.matches.values()].filter((each) => each.due === Infinity);
        for (const old of over.slice(0, Math.max(0, over.length - OVER_KEPT))) this.matches.delete(old.lobby_id);
    }

    // A server falls silent, and one that was silent comes back.
    fail() {
        const silent = [...this.servers.values()].find((server) => !server.connected && !server.dark);
        if (silent) {
            silent.connected = true;
            silent.heartbeat_at = Date.now();
            ++silent.epoch;
            this.note("server.resumed", { server_id: silent.id, region: silent.region, epoch: silent.epoch });
        }
        const server = this.pick([...this.servers.values()]);
        if (!server || server === silent) return;
        server.connected = false;
        this.note("server.offline", { server_id: server.id, region: server.region, reason: "Connection lost" });
    }

    // Players come, idle and leave.
    stir() {
        const player = this.pick([...this.players.values()]);
        if (!player) return;
        if (this.random() < 0.5) {
            player.idle = !player.idle;
            this.note(player.idle ? "player.idle" : "player.active", { player_id: player.id });
        } else if (player.id > 20 && player.name.startsWith("player-")) {
            this.close(player.id, "Ping timeout");
            this.login(`player-${this.nextPlayer}`);
        }
    }

    drain(id, draining, reason) {
        const server = this.servers.get(id);
        if (!server) return false;
        this.setDraining(server, draining, reason);
        this.acted(draining ? "drain" : "undrain", `server ${id}`, { server_id: id, reason });
        return true;
    }

    setDraining(server, draining, reason = "") {
        const who = "127.0.0.1";
        server.drained_by_operator = server.draining = draining;
        server.drain = draining ? { who, reason, at_ms: Date.now() } : null;
        this.note("server.draining", { server_id: server.id, draining, by: "operator", who, reason });
    }

    drainMany({ servers = [], draining, reason }) {
        const known = servers.map((id) => this.servers.get(id)).filter((server) => server !== undefined);
        for (const server of known) this.setDraining(server, draining, reason);
        this.acted(draining ? "drain" : "undrain", `${known.length} servers`, { reason });
        return { draining, servers: known.length, missing: servers.filter((id) => !this.servers.has(id)) };
    }

    // All servers of these regions fall silent at once.
    blackout(regions) {
        for (const server of this.servers.values()) {
            if (!regions.includes(server.region)) continue;
            server.dark = true; // it does not come back by itself, nor does one that was silent already
            if (!server.connected) continue;
            server.connected = false;
            this.note("server.offline", { server_id: server.id, region: server.region, reason: "Connection lost" });
        }
    }

    abort(lobby, reason) {
        const match = this.matches.get(lobby);
        if (!match || match.due === Infinity) return false;
        this.over(match, "aborted", reason);
        this.acted("abort", `lobby ${lobby}`);
        return true;
    }

    kick(id, reason) {
        if (!this.players.has(id)) return false;
        this.close(id, reason || "Kicked");
        this.acted("kick", `player ${id}`);
        return true;
    }

    close(id, reason) {
        const { name } = this.players.get(id);
        this.players.delete(id);
        this.note("player.closed", { player_id: id, name, reason });
    }

    setClock({ day, hour, minute, speed }) {
        this.clock = { minutes: ((day - 1) * 24 + hour) * 60 + minute, speed };
        this.note("clock.jump", { day, hour, minute, speed });
        this.acted("clock", `day ${day} ${hour}:${minute} speed ${speed}`);
    }

    block({ kind, value, seconds, reason = "" }) {
        const now = Date.now();
        const until_ms = seconds === undefined ? null : now + 1000 * seconds;
        this.blocks.set(`${kind} ${value}`, { kind, value, reason, blocked_by: "admin (127.0.0.1)", blocked_at_ms: now, until_ms });
        this.acted("block", `${kind} ${value}`, { reason });
        return { kind, value, blocked: true };
    }

    unblock({ kind, value }) {
        if (!this.blocks.delete(`${kind} ${value}`)) return false;
        this.acted("unblock", `${kind} ${value}`);
        return true;
    }

    acted(action, target, more = {}) {
        this.note("operator.action", { operator: "admin", who: "127.0.0.1", action, target, ...more });
    }

    note(type, fields) {
        const event = { id: this.nextEvent++, time_ms: Date.now(), type, ...fields };
        this.events.push(event);
        if (this.events.length > EVENTS_KEPT) this.events.shift();
        for (const listener of this.listeners) listener(event);
    }

    pick(list) {
        return list[Math.floor(this.random() * list.length)];
    }

    clockView() {
        const minutes = Math.floor(this.clock.minutes);
        return { day: (Math.floor(minutes / 1440) % 7) + 1, hour: Math.floor(minutes / 60) % 24, minute: minutes % 60, speed: this.clock.speed };
    }

    serverView(server, now = Date.now()) {
        const { heartbeat_at, held, history, dark, ...rest } = server;
        return {
            ...rest,
            status: statusOf(server),
            matches: held,
            reported_matches: held,
            last_heartbeat_ms_ago: Math.round(now - heartbeat_at),
        };
    }

    matchView({ due, players, ...match }) {
        return match;
    }

    playerView({ heard_at, ...player }, now = Date.now()) {
        const age = Math.round(now - heard_at) % 30_000;
        return { ...player, last_message_ms_ago: age, last_ping_sent_ms_ago: age + 20, last_ping_received_ms_ago: age };
    }

    regionViews() {
        const views = new Map(
            REGIONS.map(({ id, name }) => [
                id,
                {
                    id,
                    name,
                    servers: { available: 0, full: 0, draining: 0, offline: 0 },
                    capacity: 0,
                    load: 0,
                    cpu_percent: 0,
                    memory_percent: 0,
                    ...this.regionTotals.get(id),
                    lost: 0,
                    brake: false,
                },
            ]),
        );
        for (const server of this.servers.values()) {
            const view = views.get(server.region);
            const status = statusOf(server);
            ++view.servers[status];
            if (status === "offline") continue;
            view.capacity += server.max_matches;
            view.load += server.held;
            view.cpu_percent += server.cpu;
            view.memory_percent += server.memory;
        }
        for (const view of views.values()) {
            const online = Math.max(1, view.servers.available + view.servers.full + view.servers.draining);
            view.cpu_percent /= online;
            view.memory_percent /= online;
        }
        return [...views.values()];
    }

    health(regions) {
        const reasons = [];
        let status = "ok";
        if (!this.storeUp) {
            status = "bad";
            reasons.push("The store does not take records");
        }
        const dark = regions.filter(({ servers }) => servers.offline > 0 && servers.available + servers.full + servers.draining === 0);
        if (dark.length > 0) {
            status = "bad";
            reasons.push(`All servers of ${dark.map(({ name }) => name).join(", ")} are offline`);
        }
        for (const region of regions) {
            const { available, full, draining, offline } = region.servers;
            if (offline > 0 && available + full + draining === 0) continue;
            if (region.capacity > 0 && region.load > 0.9 * region.capacity) {
                if (status === "ok") status = "warn";
                reasons.push(`${region.name} is almost full: ${region.load} of ${region.capacity} matches`);
            }
        }
        return { status, reasons };
    }

    overview(version) {
        const regions = this.regionViews();
        const states = { offering: 0, allocated: 0, ready: 0, started: 0 };
        for (const match of this.matches.values()) if (match.state in states) ++states[match.state];
        const players = [...this.players.values()];
        const times = this.times.slice().sort((a, b) => a - b);
        const quantile = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
        return {
            time_ms: Date.now(),
            version,
            uptime_s: Math.floor((Date.now() - this.started) / 1000),
            health: this.health(regions),
            regions,
            allocations: {
                ...this.totals,
                in_flight: Math.floor(this.random() * 4),
                p50_ms: quantile(0.5),
                p95_ms: quantile(0.95),
                p99_ms: quantile(0.99),
                latency_ms: { buckets_ms: TIME_BUCKETS_MS, counts: this.timeCounts },
            },
            matches: states,
            players: {
                connected: players.filter((player) => player.connected).length,
                in_grace: players.filter((player) => !player.connected).length,
                idle: players.filter((player) => player.connected && player.idle).length,
                latency_ms: { buckets_ms: BUCKETS_MS, counts: this.echoes },
            },
            clock: this.clockView(),
            loop: {
                ticks_per_second: 10 + this.random(),
                tick_avg_ms: 0.2 + 0.1 * this.random(),
                tick_max_ms: 1 + 3 * this.random() ** 4,
                messages_per_second: this.servers.size / 10 + this.players.size / 15 + 20 * this.random(),
                overruns: this.overruns,
                callback_errors: 0,
            },
            had_servers: true,
            store: { up: this.storeUp, queue_depth: Math.floor(this.random() * 5) },
            matchmakers: 2,
        };
    }
}

export function statusOf(server) {
    if (!server.connected) return "offline";
    if (server.draining) return "draining";
    return server.held >= server.max_matches ? "full" : "available";
}

function score(server) {
    return Math.round((100 - (50 * server.held) / server.max_matches - 0.2 * server.cpu - 0.1 * server.memory) * 100) / 100;
}

function bucketOf(bounds, value) {
    const at = bounds.findIndex((bound) => value <= bound);
    return at < 0 ? bounds.length : at;
}

// The same run each time (mulberry32).
function generator(seed) {
    return () => {
        seed = (seed + 0x6d2b79f5) | 0;
        let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
}
