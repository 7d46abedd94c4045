#include "config/config_keys.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "config/config_value.h"
#include "protocol/extent.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/server_messages.h"

using namespace muster;

TEST_CASE("X-1: the keys and their defaults are those that tests and users rely on") {
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"listen.servers", "\"127.0.0.1:11032\""},
        {"listen.matchmakers", "\"127.0.0.1:11033\""},
        {"listen.players", "\"127.0.0.1:11031\""},
        {"listen.http", "\"127.0.0.1:11030\""},
        {"listen.http_hosts", "[]"},
        {"auth.server_token", "not set"},
        {"auth.matchmaker_token", "not set"},
        {"auth.admin_token", "not set"},
        {"auth.http_matchmaker_token", "not set"},
        {"auth.player_key", "not set"},
        {"auth.node_token", "not set"},
        {"auth.server_token_file", "\"\""},
        {"auth.matchmaker_token_file", "\"\""},
        {"auth.admin_token_file", "\"\""},
        {"auth.http_matchmaker_token_file", "\"\""},
        {"auth.player_key_file", "\"\""},
        {"auth.node_token_file", "\"\""},
        {"game.idle_cpu_enabled", "true"},
        {"game.idle_sleep_milliseconds", "0"},
        {"game.tick_rate_milliseconds", "100"},
        {"game.max_tick_duration_milliseconds", "500"},
        {"game.stats_interval", "\"10s\""},
        {"fleet.heartbeat_interval", "\"10s\""},
        {"fleet.heartbeat_timeout", "\"30s\""},
        {"fleet.allocation_ack_timeout", "\"5s\""},
        {"fleet.allocation_retries", "3"},
        {"fleet.allocation_deadline", "\"25s\""},
        {"fleet.allocations_in_flight", "10000"},
        {"fleet.token_ttl", "\"120s\""},
        {"fleet.lobby_memory", "\"1d\""},
        {"fleet.ready_timeout", "\"10m\""},
        {"fleet.reconcile_heartbeats", "3"},
        {"fleet.host_return_timeout", "\"120s\""},
        {"fleet.host_memory", "\"1d\""},
        {"fleet.brake_share", "0.15"},
        {"fleet.brake_servers", "10"},
        {"fleet.brake_window", "\"30s\""},
        {"fleet.brake_hold", "\"90s\""},
        {"fleet.addresses", "[]"},
        {"fleet.regions",
         "[{ id = 0, name = \"USE\" }, { id = 1, name = \"USW\" }, { id = 2, name = \"EU\" }, { id = 9, name = \"RU\" "
         "}, "
         "{ id = 11, name = \"AU\" }, { id = 15, name = \"BR\" }]"},
        {"matchmakers.heartbeat_interval", "\"30s\""},
        {"matchmakers.heartbeat_timeout", "\"90s\""},
        {"players.credentials", "\"signed\""},
        {"players.byte_order", "\"big\""},
        {"players.ping_interval", "\"30s\""},
        {"players.ping_timeout", "\"60s\""},
        {"players.idle_after", "\"5m\""},
        {"players.idle_kick_after", "\"30m\""},
        {"players.resume_grace", "\"30s\""},
        {"players.heartbeat_enabled", "false"},
        {"players.heartbeat_interval", "\"5s\""},
        {"players.max_failed_heartbeats", "2"},
        {"clock.speed", "1"},
        {"clock.start_day", "1"},
        {"clock.start_hour", "0"},
        {"clock.start_minute", "0"},
        {"limits.handshake_deadline", "\"10s\""},
        {"limits.frame_deadline", "\"10s\""},
        {"limits.frame_servers", "8192"},
        {"limits.frame_players", "8192"},
        {"limits.frame_matchmakers", "65535"},
        {"limits.connections_per_ip", "1024"},
        {"limits.connections_per_port", "100000"},
        {"limits.accepts_per_second_ip", "200"},
        {"limits.messages_per_second_servers", "2000"},
        {"limits.messages_per_second_matchmakers", "20000"},
        {"limits.messages_per_second_players", "200"},
        {"limits.flood_close_after", "\"10s\""},
        {"limits.unsent_bytes", "\"256KiB\""},
        {"limits.total_buffers", "\"1GiB\""},
        {"limits.wrong_secrets_per_minute_ip", "10"},
        {"limits.logins_per_minute_account", "30"},
        {"limits.http_connections", "1024"},
        {"limits.http_connections_ip", "64"},
        {"tls.ports", "[]"},
        {"tls.certificate_file", "\"\""},
        {"tls.key_file", "\"\""},
        {"tls.servers_certificate_file", "\"\""},
        {"tls.servers_key_file", "\"\""},
        {"tls.matchmakers_certificate_file", "\"\""},
        {"tls.matchmakers_key_file", "\"\""},
        {"tls.players_certificate_file", "\"\""},
        {"tls.players_key_file", "\"\""},
        {"tls.http_certificate_file", "\"\""},
        {"tls.http_key_file", "\"\""},
        {"tls.client_ca_file", "\"\""},
        {"tls.revoked_file", "\"\""},
        {"tls.insecure", "false"},
        {"http.open_metrics", "false"},
        {"http.trusted_proxies", "[]"},
        {"net.threads", "0"},
        {"store.path", "\"muster.db\""},
        {"store.url", "\"\""},
        {"store.password", "not set"},
        {"store.password_file", "\"\""},
        {"store.history_keep", "\"7d\""},
        {"store.history_max", "\"2GiB\""},
        {"cluster.node", "\"\""},
        {"cluster.advertise", "\"\""},
        {"cluster.listen", "\"127.0.0.1:11035\""},
        {"cluster.silence", "\"5s\""},
        {"cluster.cells", "[]"},
        {"cluster.prefer", "[]"},
        {"shutdown.deadline", "\"10s\""},
        {"log.level", "\"info\""},
    };
    REQUIRE(config_keys().size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(config_keys()[i].full_name() == expected[i].first);
        CHECK_MESSAGE(value_text(config_keys()[i], Config{}) == expected[i].second, expected[i].first);
    }
}

TEST_CASE("every key is found by its names, says what it means in one sentence, and stands with its table") {
    std::set<std::string> variables;
    std::set<std::string_view> tables_seen;
    std::string_view table;
    for (const ConfigKey& key : config_keys()) {
        INFO(key.full_name());
        CHECK(find_key(key.table, key.name) == &key);
        CHECK(find_key_by_full_name(key.full_name()) == &key);
        CHECK(find_table(key.table) != nullptr);
        CHECK(std::isupper(static_cast<unsigned char>(key.comment.front())) != 0);
        CHECK(key.comment.ends_with('.'));
        CHECK(std::count(key.comment.begin(), key.comment.end(), '.') == 1);
        CHECK(variables.insert(key.environment_variable()).second);
        if (key.table != table) CHECK(tables_seen.insert(key.table).second);
        table = key.table;
    }
    CHECK(tables_seen.size() == config_tables().size());
    CHECK(find_key("fleet", "heartbeat_timeout")->environment_variable() == "MUSTER_FLEET_HEARTBEAT_TIMEOUT");
    CHECK(find_key("fleet", "speed") == nullptr);
    CHECK(find_key_by_full_name("fleet") == nullptr);
    CHECK(find_table("fleets") == nullptr);
}

TEST_CASE("every default is itself allowed") {
    for (const ConfigKey& key : config_keys()) {
        std::visit(
            [&](const auto& type) {
                if constexpr (requires { type.least; }) {
                    Config config;
                    CHECK_MESSAGE(type.place(config) >= type.least, key.full_name());
                    CHECK_MESSAGE(type.place(config) <= type.most, key.full_name());
                }
            },
            key.type);
    }
}

TEST_CASE("W-7: no frame limit is so low that it shuts out a message of its port") {
    const auto least = [](std::string_view name) {
        return static_cast<std::size_t>(std::get<WholeKey>(find_key("limits", name)->type).least);
    };
    const std::size_t code = sizeof(Code);
    CHECK(code + extent<ServerHandshake>().most <= least("frame_servers"));
    CHECK(code + extent<ReadyForMatch>().most <= least("frame_servers"));
    CHECK(code + extent<ValidateToken>().most <= least("frame_servers"));
    CHECK(code + extent<MatchmakerHandshake>().most <= least("frame_matchmakers"));
    CHECK(code + extent<MatchPlayers>().most <= least("frame_matchmakers"));
    CHECK(code + extent<PlayerLogin>().most <= least("frame_players"));
}
