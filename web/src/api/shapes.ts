// What the daemon's HTTP API answers, as far as the page reads it. docs/SPEC.md, "HTTP", is the contract.

export type Health = "ok" | "warn" | "bad";

export interface RegionView {
    id: number;
    name: string;
    servers: { available: number; full: number; draining: number; offline: number };
    capacity: number;
    load: number;
    cpu_percent: number;
    memory_percent: number;
    requests: number;
    failures: number;
    retries: number;
    lost: number;
    brake: boolean;
}

export interface Overview {
    time_ms: number;
    version: string;
    uptime_s: number;
    health: { status: Health; reasons: string[] };
    regions: RegionView[];
    had_servers: boolean;
    allocations: {
        requests: number;
        successes: number;
        failures: Record<string, number>;
        retries: number;
        in_flight: number;
        // Since the start.
        p50_ms: number | null;
        p95_ms: number | null;
        p99_ms: number | null;
        latency_ms: Distribution;
    };
    matches: { offering: number; allocated: number; ready: number; started: number };
    players: {
        connected: number;
        in_grace: number;
        idle: number; // of the connected
        latency_ms: Distribution; // of all pings echoed
    };
    clock: Clock;
    loop: {
        ticks_per_second: number;
        tick_avg_ms: number;
        tick_max_ms: number;
        messages_per_second: number;
        overruns: number;
        callback_errors: number;
    };
    store: { up: boolean; queue_depth: number };
    matchmakers: number;
}

// Counts since the start, by their upper bounds; the one beyond the last bound is of all above it.
export interface Distribution {
    buckets_ms: number[];
    counts: number[];
}

export interface Clock {
    day: number;
    hour: number;
    minute: number;
    speed: number;
}

export type ServerStatus = "available" | "full" | "draining" | "offline";

export interface Server {
    id: number;
    ip: string;
    port: number;
    region: number;
    status: ServerStatus;
    matches: number;
    reported_matches: number;
    max_matches: number;
    cpu: number;
    memory: number;
    draining: boolean; // by the server's own wish, or by the operator's
    drained_by_operator: boolean;
    connected: boolean;
    epoch: number;
    choices: number; // offers it was chosen for
    registered_at_ms: number;
    last_heartbeat_ms_ago: number;
    rtt_ms: number | null;
    jitter_ms: number | null;
}

export interface ServerSample {
    time_ms: number;
    matches: number;
    cpu: number;
    memory: number;
    rtt_ms: number | null;
}

export interface ServerWithHistory extends Server {
    history: ServerSample[];
}

export type MatchState = "offering" | "allocated" | "ready" | "started" | "ended" | "aborted";

export interface Match {
    lobby_id: number;
    server_id: number | null;
    matchmaker: string;
    region: number;
    state: MatchState;
    reason: string;
    player_count: number;
    tokens_used: number;
    requested_at_ms: number | null;
    allocated_at_ms: number | null;
}

export interface Player {
    id: number;
    name: string;
    connected: boolean;
    idle: boolean;
    latency_ms: number | null;
    jitter_ms: number | null;
    connected_at_ms: number;
    last_message_ms_ago: number | null;
    last_ping_sent_ms_ago: number | null;
    last_ping_received_ms_ago: number | null;
    entity: number | null;
    failed_heartbeats: number;
}

// An event has these three fields, and more that depend on its type.
export interface FleetEvent {
    id: number;
    time_ms: number;
    type: string;
    [field: string]: unknown;
}

export interface EventPage {
    events: FleetEvent[]; // oldest first
    previous: number | null; // there are more before this id
}
