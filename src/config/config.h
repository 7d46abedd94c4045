// Every setting of Muster with its default. What each means, and what is allowed, stands in config_keys.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/log.h"
#include "base/time.h"
#include "config/config_units.h"
#include "config/listen_address.h"
#include "config/secrets.h"
#include "core/cell_plan.h"
#include "core/region.h"
#include "protocol/port.h"

namespace muster {

// How a player proves who it is.
enum class Credentials : std::uint8_t { open, with_signature };

// A plain value. load_config() makes one that is whole and within its limits; a default one is too.
struct Config {
    struct Listen {
        ListenAddress servers = ListenAddress::loopback(11032);
        ListenAddress matchmakers = ListenAddress::loopback(11033);
        ListenAddress players = ListenAddress::loopback(11031);
        ListenAddress http = ListenAddress::loopback(11030);
        std::vector<std::string> http_hosts;  // in lower case
    } listen;

    // A token that is not set lets any token pass, and no player_key makes credentials open: on loopback only, see
    // problems_of_serving().
    struct Auth {
        Secrets server_token;
        Secrets matchmaker_token;
        Secrets admin_token;
        Secrets http_matchmaker_token;
        Secrets player_key;
        Secrets node_token;
        // Where the above were to be read from; empty when they were not.
        std::string server_token_file;
        std::string matchmaker_token_file;
        std::string admin_token_file;
        std::string http_matchmaker_token_file;
        std::string player_key_file;
        std::string node_token_file;
    } auth;

    struct Game {
        bool idle_cpu_enabled = true;
        std::int32_t idle_sleep_milliseconds = 0;
        std::int32_t tick_rate_milliseconds = 100;
        std::int32_t max_tick_duration_milliseconds = 500;
        Duration stats_interval = std::chrono::seconds(10);
    } game;

    struct Fleet {
        Duration heartbeat_interval = std::chrono::seconds(10);
        Duration heartbeat_timeout = std::chrono::seconds(30);
        Duration allocation_ack_timeout = std::chrono::seconds(5);
        std::int32_t allocation_retries = 3;
        Duration allocation_deadline = std::chrono::seconds(25);
        std::int32_t allocations_in_flight = 10'000;
        Duration token_ttl = std::chrono::seconds(120);
        Duration lobby_memory = std::chrono::hours(24);
        Duration ready_timeout = std::chrono::minutes(10);
        std::int32_t reconcile_heartbeats = 3;
        Duration host_return_timeout = std::chrono::minutes(2);
        Duration host_memory = std::chrono::hours(24);
        std::vector<std::string> addresses;  // ranges
        double brake_share = 0.15;
        std::int32_t brake_servers = 10;
        Duration brake_window = std::chrono::seconds(30);
        Duration brake_hold = std::chrono::seconds(90);
        Regions regions = {{RegionId(0), "USE"}, {RegionId(1), "USW"}, {RegionId(2), "EU"},
                           {RegionId(9), "RU"},  {RegionId(11), "AU"}, {RegionId(15), "BR"}};
    } fleet;

    struct Matchmakers {
        Duration heartbeat_interval = std::chrono::seconds(30);
        Duration heartbeat_timeout = std::chrono::seconds(90);
    } matchmakers;

    struct Players {
        Credentials credentials = Credentials::with_signature;
        ByteOrder byte_order = ByteOrder::big;
        Duration ping_interval = std::chrono::seconds(30);
        Duration ping_timeout = std::chrono::seconds(60);
        Duration idle_after = std::chrono::minutes(5);
        Duration idle_kick_after = std::chrono::minutes(30);
        Duration resume_grace = std::chrono::seconds(30);
        bool heartbeat_enabled = false;
        Duration heartbeat_interval = std::chrono::seconds(5);
        std::int32_t max_failed_heartbeats = 2;
    } players;

    struct WorldClock {
        std::int32_t speed = 1;
        std::int32_t start_day = 1;
        std::int32_t start_hour = 0;
        std::int32_t start_minute = 0;
    } clock;

    struct Limits {
        Duration handshake_deadline = std::chrono::seconds(10);
        Duration frame_deadline = std::chrono::seconds(10);
        std::int32_t frame_servers = 8'192;
        std::int32_t frame_players = 8'192;
        std::int32_t frame_matchmakers = 65'535;
        std::int32_t connections_per_ip = 1'024;
        std::int32_t connections_per_port = 100'000;
        std::int32_t accepts_per_second_ip = 200;
        std::int32_t messages_per_second_servers = 2'000;
        std::int32_t messages_per_second_matchmakers = 20'000;
        std::int32_t messages_per_second_players = 200;
        Duration flood_close_after = std::chrono::seconds(10);
        ByteSize unsent_bytes = kibibytes(256);
        ByteSize total_buffers = gibibytes(1);
        std::int32_t wrong_secrets_per_minute_ip = 10;
        std::int32_t logins_per_minute_account = 30;
        std::int32_t http_connections = 1'024;
        std::int32_t http_connections_ip = 64;
    } limits;

    // Which ports speak TLS, and with what (S-1, S-2).
    struct Tls {
        // A port's own; empty where the port shows the certificate of all.
        struct Own {
            std::string certificate_file;
            std::string key_file;
        };

        std::vector<std::string> ports;
        std::string certificate_file;
        std::string key_file;
        Own servers;
        Own matchmakers;
        Own players;
        Own http;
        std::string client_ca_file;
        std::string revoked_file;
        bool insecure = false;

        bool at(std::string_view port) const { return std::find(ports.begin(), ports.end(), port) != ports.end(); }
        // Whether peers of the port prove by a certificate who they are, and need no shared token.
        bool proves_peers_at(std::string_view port) const { return !client_ca_file.empty() && at(port); }
        // Of each port that may have a certificate of its own.
        std::array<std::pair<std::string_view, const Own&>, 4> own() const {
            return {{{"servers", servers}, {"matchmakers", matchmakers}, {"players", players}, {"http", http}}};
        }
    } tls;

    struct Http {
        bool open_metrics = false;
        std::vector<std::string> trusted_proxies;  // ranges
    } http;

    struct Net {
        std::int32_t threads = 0;  // 0: the game thread serves its ports itself
    } net;

    // One file, or, with `url`, a PostgreSQL that several nodes share (N-1).
    struct Store {
        std::string path = "muster.db";
        std::string url;
        Secrets password;
        std::string password_file;
        Duration history_keep = std::chrono::hours(7 * 24);
        ByteSize history_max = gibibytes(2);
    } store;

    // With store.url only.
    struct Cluster {
        std::string node;  // empty: the host's name
        std::string advertise;
        ListenAddress listen = ListenAddress::loopback(11035);  // the node port
        Duration silence = std::chrono::seconds(5);
        CellPlans cells;  // by name; none: one, main, with everything
        std::vector<std::string> prefer;
    } cluster;

    struct Shutdown {
        Duration deadline = std::chrono::seconds(10);
    } shutdown;

    struct Logging {
        LogLevel level = LogLevel::info;
    } log;
};

// The cells that a node serves: those of the config, or one with everything.
inline CellPlans planned_cells(const Config& config) {
    return config.cluster.cells.empty() ? CellPlans{CellPlan{}} : config.cluster.cells;
}

}  // namespace muster
