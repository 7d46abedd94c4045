#include "core/recovery_check.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace muster;

namespace {

RecoveredState whole_state() {
    RecoveredState state;
    state.numbers = {10, 20, 30};
    ServerRecord server;
    server.id = ServerId(9);
    server.ip = IpAddress::v4({10, 0, 0, 1});
    server.port = 5000;
    server.epoch = 19;
    server.max_matches = 10'000;
    state.servers.push_back(server);
    MatchRecord match;
    match.lobby = LobbyId(1);
    match.matchmaker = "chat-1";
    match.player_count = 1;
    match.server = server.id;
    match.server_ip = "10.0.0.1";
    match.server_port = 65535;
    match.token = std::string(256, 't');
    match.allocated_at = UnixMs{std::numeric_limits<std::int64_t>::max() / 1'000'000};
    state.matches.push_back(match);
    state.tokens_used.push_back({LobbyId(1), AccountId(-5)});
    state.players.push_back({LobbyId(1), "chat-1", std::vector<AccountId>(127)});
    state.accounts.push_back({"ann", AccountId(1)});
    state.over.push_back({UnixMs{0}, LobbyId(2), ServerId(0), MatchState::ended});
    state.owed_aborts.push_back({server.ip, server.port, LobbyId(3)});
    state.hosts.push_back({"eu-1", "10.0.0.1", RegionId(2), "1.0", false, UnixMs{1}, UnixMs{}});
    HostProcessRecord process;
    process.host = "eu-1";
    process.name = std::string(80, 'p');
    process.run = "arena";
    process.port = 65535;
    process.exit_reason = "exit code 1";
    state.host_processes.push_back(process);
    state.has_clock = true;
    return state;
}

}  // namespace

TEST_CASE("fault 6: what core itself left is good to start from, and so is nothing") {
    CHECK(damage_of({}) == std::nullopt);
    CHECK(damage_of(whole_state()) == std::nullopt);
}

TEST_CASE("fault 6: a recovered value that core cannot have written is told by its table") {
    constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
    const std::pair<std::function<void(RecoveredState&)>, const char*> damages[] = {
        {[](auto& s) { s.numbers.server_ids_below = 0; }, "numbers_reserved holds server ids 0, which is out of range"},
        {[](auto& s) { s.numbers.server_ids_below = INT32_MAX; },
         "numbers_reserved holds server ids 2147483647, which is out of range"},
        {[](auto& s) { s.numbers.epochs_below = greatest; },
         "numbers_reserved holds epochs 9223372036854775807, which is out of range"},
        {[](auto& s) { s.numbers.event_ids_below = -1; }, "numbers_reserved holds event ids -1, which is out of range"},
        {[](auto& s) { s.hosts[0].name = "a/b"; }, "hosts holds a name that is none"},
        {[](auto& s) { s.hosts[0].name = std::string(65, 'a'); }, "hosts holds a name that is none"},
        {[](auto& s) { s.hosts[0].address = "example.com"; }, "hosts holds an address that is none"},
        {[](auto& s) { s.hosts[0].version = "\xFF"; }, "hosts holds a version that is none"},
        {[](auto& s) { s.hosts[0].lost_at = UnixMs{-1}; }, "hosts holds time -1, which is out of range"},
        {[](auto& s) { s.host_processes[0].host = ".."; }, "host_processes holds a name that is none"},
        {[](auto& s) { s.host_processes[0].name += 'p'; }, "host_processes holds a name that is none"},
        {[](auto& s) { s.host_processes[0].run = ""; }, "host_processes holds a name that is none"},
        {[](auto& s) { s.host_processes[0].pid = -1; }, "host_processes holds pid -1, which is out of range"},
        {[](auto& s) { s.host_processes[0].port = 65536; }, "host_processes holds port 65536, which is out of range"},
        {[](auto& s) { s.host_processes[0].exit_code = -2; },
         "host_processes holds exit code -2, which is out of range"},
        {[](auto& s) { s.host_processes[0].exit_reason = std::string(257, 'r'); },
         "host_processes holds a reason that is none"},
        {[](auto& s) { s.servers[0].id = ServerId(10); }, "servers holds id 10, which was never given out"},
        {[](auto& s) { s.servers[0].id = ServerId(0); }, "servers holds id 0, which was never given out"},
        {[](auto& s) { s.servers[0].epoch = 20; }, "servers holds epoch 20, which was never given out"},
        {[](auto& s) { s.servers[0].max_matches = 0; }, "servers holds capacity 0, which is out of range"},
        {[](auto& s) { s.servers[0].max_matches = 10'001; }, "servers holds capacity 10001, which is out of range"},
        {[](auto& s) {
             s.servers.push_back(s.servers[0]);
             s.servers[1].id = ServerId(8);
         },
         "servers holds 10.0.0.1 port 5000 twice"},
        {[](auto& s) { s.matches[0].lobby = LobbyId(0); }, "matches holds lobby 0, which is out of range"},
        {[](auto& s) { s.matches[0].player_count = 0; }, "matches holds player count 0, which is out of range"},
        {[](auto& s) { s.matches[0].server_port = 65536; }, "matches holds port 65536, which is out of range"},
        {[](auto& s) { s.matches[0].matchmaker.assign(65, 'm'); }, "matches holds a matchmaker that is none"},
        {[](auto& s) { s.matches[0].token += 't'; }, "matches holds a token that is none"},
        {[](auto& s) { s.matches[0].reason = "\xff"; }, "matches holds a reason that is none"},
        {[](auto& s) { s.matches[0].server_ip.assign(46, '1'); }, "matches holds a server address that is none"},
        {[](auto& s) { s.matches[0].started_at = UnixMs{-1}; }, "matches holds time -1, which is out of range"},
        {[](auto& s) { ++s.matches[0].allocated_at.value; }, "matches holds time 9223372036855, which is out of range"},
        {[](auto& s) { s.over[0].at = UnixMs{greatest}; },
         "matches holds time 9223372036854775807, which is out of range"},
        {[](auto& s) { s.tokens_used[0].lobby = LobbyId(-1); }, "token_uses holds lobby -1, which is out of range"},
        {[](auto& s) { s.players[0].accounts.emplace_back(1); },
         "match_players holds players 128, which is out of range"},
        {[](auto& s) { s.accounts[0].name.assign(33, 'n'); }, "accounts holds a name that is none"},
        {[](auto& s) { s.accounts[0].account = AccountId(std::numeric_limits<std::int32_t>::max()); },
         "accounts holds account 2147483647, which is out of range"},
        {[](auto& s) { s.accounts.push_back({"bob", AccountId(1)}); }, "accounts holds account 1 twice"},
        {[](auto& s) { s.owed_aborts[0].lobby = LobbyId(0); }, "owed_aborts holds lobby 0, which is out of range"},
        {[](auto& s) { s.clock.elapsed_game_ms = -1; }, "world_clock holds a negative time"},
        {[](auto& s) { s.clock.speed = 0; }, "world_clock holds speed 0, which is out of range"},
        {[](auto& s) { s.clock.speed = 3'601; }, "world_clock holds speed 3601, which is out of range"},
    };
    for (const auto& [damage, told] : damages) {
        RecoveredState state = whole_state();
        damage(state);
        CHECK(damage_of(state) == told);
    }
}
