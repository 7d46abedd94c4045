#include "config/config_keys.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "base/check.h"
#include "base/ip_range.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Where a key's value lives, as a function of the config.
#define AT(member) ([](Config& config) -> auto& { return config.member; })

constexpr Duration day = 24h;

// The longest message that each port must take: the handshakes and the login with their longest strings, and a
// list of 127 accounts (0x2008).
constexpr std::int32_t frame_servers_least = 512;
constexpr std::int32_t frame_players_least = 2'048;
constexpr std::int32_t frame_matchmakers_least = 1'024;
constexpr std::int32_t frame_most = 65'535;

constexpr std::size_t token_bytes_max = 256;  // W-2

bool has_tls_port(std::string_view name) {
    return name == "servers" || name == "matchmakers" || name == "players" || name == "http" || name == "nodes";
}

bool is_range(std::string_view text) {
    return IpRange::parse(text).has_value();
}

constexpr std::string_view ranges_allowed = "IP addresses and ranges of them";

// The database's address. A password in it would stand in the file, in `muster config` and in logs.
std::string_view problem_of_url(std::string_view url) {
    const bool is_postgres = url.starts_with("postgresql://") || url.starts_with("postgres://");
    if (!is_postgres) return "is no URL that begins with postgresql://";
    const std::string_view rest = url.substr(url.find("//") + 2);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
    const std::size_t at = authority.rfind('@');
    const bool has_password =
        at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos;
    if (has_password || rest.find("password=") != std::string_view::npos)
        return "holds a password, which does not belong there; put it into a file that store.password_file or "
               "PGPASSFILE names";
    return {};
}

// Nodes and cells have names that fit into logs, labels and URLs as they are.
constexpr std::size_t node_name_bytes_max = 63;

std::string_view problem_of_node(std::string_view name) {
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
    if (name.size() > node_name_bytes_max) return "is longer than 63 bytes";
    if (!std::all_of(name.begin(), name.end(), fits)) return "may hold letters, digits, dots, hyphens and underscores";
    return {};
}

std::string_view problem_of_advertised(std::string_view address) {
    constexpr std::size_t bytes_max = 255;
    if (address.size() > bytes_max) return "is longer than 255 bytes";
    const std::size_t colon = address.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size()) return "is no host:port";
    const auto fits_host = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("-._:[]").find(c) != std::string_view::npos;
    };
    if (!std::ranges::all_of(address.substr(0, colon), fits_host))
        return "has a host that is neither a name nor an address";
    if (parse_port(address.substr(colon + 1)).value_or(0) == 0) return "has a port that is not 1 to 65535";
    return {};
}

constexpr ConfigTable tables[] = {
    {"listen", "Where each port listens: an IP address and a port. Port 0 takes any free one."},
    {"auth",
     "Secrets are never in this file. Each comes from its environment variable (MUSTER_AUTH_SERVER_TOKEN and so on), "
     "from a file named here, or from systemd's credentials (muster_server_token and so on), in this order."},
    {"game", "The game loop."},
    {"fleet", "Game servers and the matches that they are given."},
    {"matchmakers", "Matchmakers: the backends that ask for matches. Their wire names say chat server and manager."},
    {"players", "Players."},
    {"clock",
     "The world clock. The start values apply to a new store only; later the clock goes on from where it was."},
    {"limits", "Limits per connection, per address and per port."},
    {"tls", "TLS 1.3: which ports speak it, and the certificates; `muster certs` makes them."},
    {"http", "The page, the API and the metrics."},
    {"net", "The network threads."},
    {"store", "The store: an embedded file, or, with url, a PostgreSQL that several nodes may share."},
    {"cluster", "This node among those that share a PostgreSQL; only with store.url."},
    {"shutdown", "Stopping on SIGTERM."},
    {"log", "The log on standard error."},
};

using enum TakesEffect;

constexpr ConfigKey keys[] = {
    {"listen", "servers", AddressKey{AT(listen.servers)}, at_restart, "Where game servers connect."},
    {"listen", "matchmakers", AddressKey{AT(listen.matchmakers)}, at_restart, "Where matchmakers connect."},
    {"listen", "players", AddressKey{AT(listen.players)}, at_restart, "Where players connect."},
    {"listen", "http", AddressKey{AT(listen.http)}, at_restart, "Where the page, the API and the metrics are served."},
    {"listen", "http_hosts", HostsKey{AT(listen.http_hosts)}, at_restart,
     "Names that HTTP requests may call Muster by, besides localhost and IP addresses, such as the name of a proxy."},

    {"auth", "server_token", SecretKey{AT(auth.server_token), AT(auth.server_token_file), token_bytes_max, true},
     at_reload, "The token that a game server presents in its handshake."},
    {"auth", "matchmaker_token",
     SecretKey{AT(auth.matchmaker_token), AT(auth.matchmaker_token_file), token_bytes_max, true}, at_reload,
     "The token that a matchmaker presents in its handshake."},
    {"auth", "admin_token", SecretKey{AT(auth.admin_token), AT(auth.admin_token_file), Secret::bytes_max, true},
     at_reload, "The token that an operator presents over HTTP."},
    {"auth", "http_matchmaker_token",
     SecretKey{AT(auth.http_matchmaker_token), AT(auth.http_matchmaker_token_file), Secret::bytes_max, true}, at_reload,
     "The token that a matchmaker presents over HTTP; it allows requests for matches, and nothing else."},
    {"auth", "player_key", SecretKey{AT(auth.player_key), AT(auth.player_key_file), Secret::bytes_max, false},
     at_reload, "The key that signs players' credentials."},
    {"auth", "node_token", SecretKey{AT(auth.node_token), AT(auth.node_token_file), token_bytes_max, true}, at_restart,
     "The token that nodes present to each other at the node port; the same on all nodes."},
    {"auth", "server_token_file", PathKey{AT(auth.server_token_file)}, at_reload,
     "The file with server_token; ignored when the environment has it."},
    {"auth", "matchmaker_token_file", PathKey{AT(auth.matchmaker_token_file)}, at_reload,
     "The file with matchmaker_token; ignored when the environment has it."},
    {"auth", "admin_token_file", PathKey{AT(auth.admin_token_file)}, at_reload,
     "The file with admin_token; ignored when the environment has it."},
    {"auth", "http_matchmaker_token_file", PathKey{AT(auth.http_matchmaker_token_file)}, at_reload,
     "The file with http_matchmaker_token; ignored when the environment has it."},
    {"auth", "player_key_file", PathKey{AT(auth.player_key_file)}, at_reload,
     "The file with player_key; ignored when the environment has it."},
    {"auth", "node_token_file", PathKey{AT(auth.node_token_file)}, at_restart,
     "The file with node_token; ignored when the environment has it."},

    {"game", "idle_cpu_enabled", FlagKey{AT(game.idle_cpu_enabled)}, at_restart,
     "Whether an idle loop sleeps; if false, it spins."},
    {"game", "idle_sleep_milliseconds", WholeKey{AT(game.idle_sleep_milliseconds), 0, 1'000}, at_restart,
     "Longest sleep of an idle loop; 0 means no limit."},
    {"game", "tick_rate_milliseconds", WholeKey{AT(game.tick_rate_milliseconds), 1, 10'000}, at_restart,
     "How long one pass of the loop takes messages before it turns to timers and events."},
    {"game", "max_tick_duration_milliseconds", WholeKey{AT(game.max_tick_duration_milliseconds), 1, 60'000}, at_restart,
     "A longer pass is logged and counted."},
    {"game", "stats_interval", DurationKey{AT(game.stats_interval), 100ms, day}, at_restart,
     "How often the log gets a line with players and loop speed."},

    {"fleet", "heartbeat_interval", DurationKey{AT(fleet.heartbeat_interval), 10ms, 1h}, at_reload,
     "How often game servers send their heartbeat; they are not told, so set it in their SDK options too."},
    {"fleet", "heartbeat_timeout", DurationKey{AT(fleet.heartbeat_timeout), 10ms, day}, at_reload,
     "A game server that is silent for this long is offline and removed."},
    {"fleet", "allocation_ack_timeout", DurationKey{AT(fleet.allocation_ack_timeout), 10ms, 5min}, at_reload,
     "How long a game server has to acknowledge a match before the next one is asked."},
    {"fleet", "allocation_retries", WholeKey{AT(fleet.allocation_retries), 0, 16}, at_reload,
     "How many other game servers are tried when the first one does not take the match."},
    {"fleet", "allocation_deadline", DurationKey{AT(fleet.allocation_deadline), 10ms, 10min}, at_reload,
     "Every request for a match is answered within this time."},
    {"fleet", "allocations_in_flight", WholeKey{AT(fleet.allocations_in_flight), 1, 1'000'000}, at_reload,
     "How many allocation requests may be in flight; further ones get \"Server busy\"."},
    {"fleet", "token_ttl", DurationKey{AT(fleet.token_ttl), 10ms, day}, at_reload,
     "How long a match token admits players after the game server acknowledged the match."},
    {"fleet", "lobby_memory", DurationKey{AT(fleet.lobby_memory), 1s, 30 * day}, at_reload,
     "How long the id of an ended lobby is refused; the latest million are always remembered."},
    {"fleet", "ready_timeout", DurationKey{AT(fleet.ready_timeout), 1s, day}, at_reload,
     "A match whose server is ready is aborted when no player was let in and it did not start for this long."},
    {"fleet", "reconcile_heartbeats", WholeKey{AT(fleet.reconcile_heartbeats), 1, 1'000}, at_reload,
     "After this many heartbeats in a row with fewer matches than Muster holds, Muster aborts the older matches."},
    {"fleet", "host_return_timeout", DurationKey{AT(fleet.host_return_timeout), 10ms, day}, at_reload,
     "After a restart of Muster, a host whose agent has not returned for this long is lost."},
    {"fleet", "host_memory", DurationKey{AT(fleet.host_memory), 1s, 30 * day}, at_reload,
     "A host that has been lost for this long is forgotten; `muster host forget` does so at once."},
    {"fleet", "brake_share", RealKey{AT(fleet.brake_share), 0, 1}, at_reload,
     "The eviction brake engages when a larger share of a region than this falls silent at once."},
    {"fleet", "brake_servers", WholeKey{AT(fleet.brake_servers), 1, 1'000'000}, at_reload,
     "The eviction brake needs at least this many silent servers."},
    {"fleet", "brake_window", DurationKey{AT(fleet.brake_window), 10ms, 1h}, at_reload,
     "Servers that fell silent within this time count together for the eviction brake."},
    {"fleet", "brake_hold", DurationKey{AT(fleet.brake_hold), 10ms, day}, at_reload,
     "How long the eviction brake keeps a server after its last heartbeat."},
    {"fleet", "addresses",
     ListKey{AT(fleet.addresses), is_range, ranges_allowed, "[\"203.0.113.0/24\"]", "[\"203.0.113.0/33\"]"}, at_reload,
     "The addresses that game servers may claim; none means any."},
    {"fleet", "regions", RegionsKey{AT(fleet.regions)}, at_restart,
     "The regions: ids from 0 to 127, each once, and names of 1 to 32 bytes."},

    {"matchmakers", "heartbeat_interval", DurationKey{AT(matchmakers.heartbeat_interval), 10ms, 1h}, at_reload,
     "How often matchmakers send their heartbeat; they are not told, so set it in their SDK options too."},
    {"matchmakers", "heartbeat_timeout", DurationKey{AT(matchmakers.heartbeat_timeout), 10ms, day}, at_reload,
     "A matchmaker that is silent for this long is dropped."},

    {"players", "credentials", ChoiceKey<Credentials>{AT(players.credentials)}, at_restart,
     "Whether a login needs a signed credential; open takes any, on loopback only."},
    {"players", "byte_order", ChoiceKey<ByteOrder>{AT(players.byte_order)}, at_restart,
     "The byte order of the player port."},
    {"players", "ping_interval", DurationKey{AT(players.ping_interval), 10ms, 1h}, at_reload,
     "How often each player is pinged."},
    {"players", "ping_timeout", DurationKey{AT(players.ping_timeout), 10ms, day}, at_reload,
     "A player that has not echoed a ping for this long is removed."},
    {"players", "idle_after", DurationKey{AT(players.idle_after), 10ms, 7 * day}, at_reload,
     "A player without activity for this long is idle."},
    {"players", "idle_kick_after", DurationKey{AT(players.idle_kick_after), 10ms, 30 * day}, at_reload,
     "A player without activity for this long is removed."},
    {"players", "resume_grace", DurationKey{AT(players.resume_grace), 0ms, 1h}, at_reload,
     "How long a session survives a lost connection."},
    {"players", "heartbeat_enabled", FlagKey{AT(players.heartbeat_enabled)}, at_restart,
     "Whether players' entities are asked for heartbeats."},
    {"players", "heartbeat_interval", DurationKey{AT(players.heartbeat_interval), 10ms, 1h}, at_restart,
     "How often an entity is asked for its heartbeat."},
    {"players", "max_failed_heartbeats", WholeKey{AT(players.max_failed_heartbeats), 0, 1'000}, at_reload,
     "An entity that fails more heartbeats in a row than this is deleted."},

    {"clock", "speed", WholeKey{AT(clock.speed), 1, 3'600}, at_restart, "Game minutes in a real minute."},
    {"clock", "start_day", WholeKey{AT(clock.start_day), 1, 7}, at_restart, "Day at the first start; 1 is Sunday."},
    {"clock", "start_hour", WholeKey{AT(clock.start_hour), 0, 23}, at_restart, "Hour at the first start."},
    {"clock", "start_minute", WholeKey{AT(clock.start_minute), 0, 59}, at_restart, "Minute at the first start."},

    {"limits", "handshake_deadline", DurationKey{AT(limits.handshake_deadline), 10ms, 10min}, at_reload,
     "How long a new connection has for its handshake or login."},
    {"limits", "frame_deadline", DurationKey{AT(limits.frame_deadline), 10ms, 10min}, at_reload,
     "How long a message may take from its first byte to its last."},
    {"limits", "frame_servers", WholeKey{AT(limits.frame_servers), frame_servers_least, frame_most}, at_reload,
     "The longest message in bytes that a game server may send."},
    {"limits", "frame_players", WholeKey{AT(limits.frame_players), frame_players_least, frame_most}, at_reload,
     "The longest message in bytes that a player may send."},
    {"limits", "frame_matchmakers", WholeKey{AT(limits.frame_matchmakers), frame_matchmakers_least, frame_most},
     at_reload, "The longest message in bytes that a matchmaker may send."},
    {"limits", "connections_per_ip", WholeKey{AT(limits.connections_per_ip), 1, 1'000'000}, at_reload,
     "How many connections one address may hold."},
    {"limits", "connections_per_port", WholeKey{AT(limits.connections_per_port), 1, 1'000'000}, at_reload,
     "How many connections one port may hold."},
    {"limits", "accepts_per_second_ip", WholeKey{AT(limits.accepts_per_second_ip), 1, 1'000'000}, at_reload,
     "How many new connections a second each port accepts from one address; HTTP only when it has TLS."},
    {"limits", "messages_per_second_servers", WholeKey{AT(limits.messages_per_second_servers), 1, 10'000'000},
     at_reload, "How many messages a second one game server may send."},
    {"limits", "messages_per_second_matchmakers", WholeKey{AT(limits.messages_per_second_matchmakers), 1, 10'000'000},
     at_reload, "How many messages a second one matchmaker may send."},
    {"limits", "messages_per_second_players", WholeKey{AT(limits.messages_per_second_players), 1, 10'000'000},
     at_reload, "How many messages a second one player may send."},
    {"limits", "flood_close_after", DurationKey{AT(limits.flood_close_after), 10ms, 10min}, at_reload,
     "A connection that stays over its messages per second for this long is closed."},
    {"limits", "unsent_bytes", SizeKey{AT(limits.unsent_bytes), kibibytes(64), gibibytes(1)}, at_reload,
     "A connection with more unsent bytes than this is closed."},
    {"limits", "total_buffers", SizeKey{AT(limits.total_buffers), mebibytes(1), gibibytes(1'024)}, at_reload,
     "The most bytes that all connections together may buffer."},
    {"limits", "wrong_secrets_per_minute_ip", WholeKey{AT(limits.wrong_secrets_per_minute_ip), 1, 1'000'000}, at_reload,
     "From this many wrong tokens or credentials of one address in a minute on, wrong ones are answered slower."},
    {"limits", "logins_per_minute_account", WholeKey{AT(limits.logins_per_minute_account), 1, 1'000'000}, at_reload,
     "How many times a minute one account may log in."},
    {"limits", "http_connections", WholeKey{AT(limits.http_connections), 8, 1'000'000}, at_reload,
     "How many HTTP connections there may be."},
    {"limits", "http_connections_ip", WholeKey{AT(limits.http_connections_ip), 2, 1'000'000}, at_reload,
     "How many HTTP connections one address may hold."},

    {"tls", "ports",
     ListKey{AT(tls.ports), has_tls_port, "\"servers\", \"matchmakers\", \"players\", \"http\" and \"nodes\"",
             "[\"servers\", \"http\"]", "[\"server\"]"},
     at_restart, "The ports that speak TLS."},
    {"tls", "certificate_file", PathKey{AT(tls.certificate_file)}, at_reload,
     "The daemon's certificate, followed by its chain; PEM."},
    {"tls", "key_file", PathKey{AT(tls.key_file)}, at_reload, "The private key of certificate_file; PEM."},
    {"tls", "servers_certificate_file", PathKey{AT(tls.servers.certificate_file)}, at_reload,
     "Certificate of the port servers, instead of certificate_file; PEM."},
    {"tls", "servers_key_file", PathKey{AT(tls.servers.key_file)}, at_reload,
     "The private key of servers_certificate_file; PEM."},
    {"tls", "matchmakers_certificate_file", PathKey{AT(tls.matchmakers.certificate_file)}, at_reload,
     "Certificate of the port matchmakers, instead of certificate_file; PEM."},
    {"tls", "matchmakers_key_file", PathKey{AT(tls.matchmakers.key_file)}, at_reload,
     "The private key of matchmakers_certificate_file; PEM."},
    {"tls", "players_certificate_file", PathKey{AT(tls.players.certificate_file)}, at_reload,
     "Certificate of the port players, instead of certificate_file; PEM."},
    {"tls", "players_key_file", PathKey{AT(tls.players.key_file)}, at_reload,
     "The private key of players_certificate_file; PEM."},
    {"tls", "http_certificate_file", PathKey{AT(tls.http.certificate_file)}, at_reload,
     "Certificate of the port http, instead of certificate_file; PEM."},
    {"tls", "http_key_file", PathKey{AT(tls.http.key_file)}, at_reload,
     "The private key of http_certificate_file; PEM."},
    {"tls", "client_ca_file", PathKey{AT(tls.client_ca_file)}, at_reload,
     "CA of client certificates; with it, game servers and matchmakers show one for their role, and no token; PEM."},
    {"tls", "revoked_file", PathKey{AT(tls.revoked_file)}, at_reload,
     "File with the serial numbers of revoked certificates, one a line."},
    {"tls", "insecure", FlagKey{AT(tls.insecure)}, at_reload,
     "Whether ports without TLS may listen beyond loopback, where anyone on the network path can read the traffic."},

    {"http", "open_metrics", FlagKey{AT(http.open_metrics)}, at_reload,
     "Whether /metrics is served without a token beyond loopback."},
    {"http", "trusted_proxies",
     ListKey{AT(http.trusted_proxies), is_range, ranges_allowed, "[\"10.0.0.0/8\"]", "[\"proxy\"]"}, at_reload,
     "Proxies that are trusted to name the client's address in X-Forwarded-For."},

    {"net", "threads", WholeKey{AT(net.threads), 0, 64}, at_restart,
     "How many threads serve the game ports besides the game thread; with TLS there, or a PostgreSQL store, at least "
     "1."},

    {"store", "path", PathKey{AT(store.path)}, at_restart, "The store's file; created when missing."},
    {"store", "url",
     TextKey{AT(store.url), problem_of_url, "the URL of a PostgreSQL database, without a password",
             "\"postgresql://muster@db1,db2/muster\"", "\"postgresql://muster:secret@db1/muster\""},
     at_restart, "The PostgreSQL database that holds the store in place of a file; not together with path."},
    {"store", "password", SecretKey{AT(store.password), AT(store.password_file), Secret::bytes_max, true}, at_restart,
     "The password for url; without it, the file that PGPASSFILE names is read."},
    {"store", "password_file", PathKey{AT(store.password_file)}, at_restart,
     "The file with password; ignored when the environment has it."},
    {"store", "history_keep", DurationKey{AT(store.history_keep), 1s, 3'650 * day}, at_reload,
     "How long ended matches and events are kept."},
    {"store", "history_max", SizeKey{AT(store.history_max), mebibytes(1), gibibytes(1'024)}, at_reload,
     "Largest size of the store; beyond it, the oldest events and ended matches are deleted."},

    {"cluster", "node",
     TextKey{AT(cluster.node), problem_of_node, "a name of letters, digits, dots, hyphens and underscores",
             "\"muster-1\"", "\"muster 1\""},
     at_restart, "This node's name, unique among the nodes; default: the name of the machine."},
    {"cluster", "advertise",
     TextKey{AT(cluster.advertise), problem_of_advertised, "a host and a port", "\"muster-1.example:11030\"",
             "\"muster-1.example\""},
     at_restart, "Where people and tools reach the HTTP port of this node; default: its own address."},
    {"cluster", "listen", AddressKey{AT(cluster.listen)}, at_restart,
     "Where other nodes connect to relay what their peers say; they find it at advertise's host and this port."},
    {"cluster", "silence", DurationKey{AT(cluster.silence), 3s, 10min}, at_restart,
     "If an owner is silent for this long, another node takes over; set the same on all nodes."},
    {"cluster", "cells", CellsKey{AT(cluster.cells)}, at_restart,
     "Parts of the state, each owned by one node; the same on all nodes; default: one cell, main, with everything."},
    {"cluster", "prefer", ListKey{AT(cluster.prefer), is_cell_name, "names of cells", "[\"main\"]", "[\"Main\"]"},
     at_restart, "Cells that this node takes before other nodes do, and takes back when it returns."},

    {"shutdown", "deadline", DurationKey{AT(shutdown.deadline), 10ms, 10min}, at_reload,
     "How long a stop may take before Muster gives up and exits."},

    {"log", "level", ChoiceKey<LogLevel>{AT(log.level)}, at_reload, "Minimum level to log."},
};

#undef AT

}  // namespace

template <>
std::span<const ConfigChoice<Credentials>> choices() {
    static constexpr ConfigChoice<Credentials> all[] = {{"signed", Credentials::with_signature},
                                                        {"open", Credentials::open}};
    return all;
}

template <>
std::span<const ConfigChoice<ByteOrder>> choices() {
    static constexpr ConfigChoice<ByteOrder> all[] = {{"big", ByteOrder::big}, {"little", ByteOrder::little}};
    return all;
}

template <>
std::span<const ConfigChoice<LogLevel>> choices() {
    static constexpr ConfigChoice<LogLevel> all[] = {{"debug", LogLevel::debug},
                                                     {"info", LogLevel::info},
                                                     {"warning", LogLevel::warning},
                                                     {"warn", LogLevel::warning},  // as the log prints it
                                                     {"error", LogLevel::error}};
    return all;
}

std::string ConfigKey::full_name() const {
    return fmt::format("{}.{}", table, name);
}

std::string ConfigKey::environment_variable() const {
    std::string variable = fmt::format("MUSTER_{}_{}", table, name);
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return variable;
}

std::span<const ConfigKey> config_keys() {
    return keys;
}

std::span<const ConfigTable> config_tables() {
    return tables;
}

bool is_cell_name(std::string_view name) {
    constexpr std::size_t bytes_max = 32;
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !name.empty() && name.size() <= bytes_max && std::all_of(name.begin(), name.end(), fits);
}

const ConfigKey* find_key(std::string_view table, std::string_view name) {
    const auto found = std::find_if(std::begin(keys), std::end(keys),
                                    [&](const ConfigKey& key) { return key.table == table && key.name == name; });
    return found == std::end(keys) ? nullptr : found;
}

const ConfigKey* find_key_by_full_name(std::string_view full_name) {
    const std::size_t dot = full_name.find('.');
    if (dot == std::string_view::npos) return nullptr;
    return find_key(full_name.substr(0, dot), full_name.substr(dot + 1));
}

const ConfigTable* find_table(std::string_view name) {
    const auto found = std::find_if(std::begin(tables), std::end(tables),
                                    [&](const ConfigTable& table) { return table.name == name; });
    return found == std::end(tables) ? nullptr : found;
}

std::size_t index_of(const ConfigKey& key) {
    MUSTER_CHECK(&key >= std::begin(keys) && &key < std::end(keys), "keys are those of the list");
    return static_cast<std::size_t>(&key - std::begin(keys));
}

}  // namespace muster
