// Stored rows: whatever a store holds is refused with a reason, or core starts from it and breaks no check of its own.
//
// An input is a list of rows, each with values that are plausible or any at all. Rows of one key follow one another as
// in a table, where the latest counts. What the check takes, core starts from; then the servers come back, are asked
// about their matches and answer one way or the other, a host comes back or does not, and time passes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/recovery_check.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/fuzz_world.h"

namespace muster::fuzz {
namespace {

using namespace std::chrono_literals;

class RowPlay {
public:
    explicit RowPlay(FuzzInput input) : input_(input) {}

    void run() {
        const RecoveredState state = rows();
        if (const auto damage = damage_of(state)) {
            MUSTER_CHECK(!damage->empty(), "a refusal says what is wrong");
            return;
        }
        FuzzWorld world(state);
        come_back(world, state);
        world.finish();
    }

private:
    static constexpr std::size_t rows_max = 24;

    // Small, so that rows meet each other; or at an edge; or anything.
    template <class Number>
    Number value() {
        constexpr std::array<std::int64_t, 8> edges{0, -1, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 127, 10'001};
        switch (input_.below(8)) {
            case 0:
                return static_cast<Number>(edges[input_.below(edges.size())]);
            case 1:
                return input_.number<Number>();
            default:
                return static_cast<Number>(1 + input_.below(6));
        }
    }
    UnixMs date() {
        if (input_.below(8) == 0) return UnixMs{value<std::int64_t>()};
        return UnixMs{VirtualClock().wall().value - 1'000 * static_cast<std::int64_t>(input_.byte())};
    }
    std::string text(std::string usual) { return input_.below(8) == 0 ? std::string(input_.text()) : std::move(usual); }

    RecoveredState rows() {
        RecoveredState state;
        state.numbers = {100, 100, 100};
        std::map<ServerId, ServerRecord> servers;
        std::map<LobbyId, MatchRecord> matches;
        std::map<LobbyId, PlayersRecord> lists;
        std::map<std::string, AccountRecord> accounts;
        for (std::size_t row = 0; row < rows_max && !input_.empty(); ++row) {
            switch (input_.below(9)) {
                case 0:
                case 1: {
                    const ServerRecord server = server_row();
                    servers.insert_or_assign(server.id, server);
                    break;
                }
                case 2:
                case 3:
                case 4: {
                    const MatchRecord match = match_row();
                    matches.insert_or_assign(match.lobby, match);
                    break;
                }
                case 5: {
                    PlayersRecord list{LobbyId(value<std::int32_t>()), text("a"), {}};
                    for (std::size_t i = input_.below(5); i > 0; --i) list.accounts.emplace_back(value<std::int32_t>());
                    lists.insert_or_assign(list.lobby, list);
                    break;
                }
                case 6:
                    state.tokens_used.push_back({LobbyId(value<std::int32_t>()), AccountId(value<std::int32_t>())});
                    break;
                case 7: {
                    const AccountRecord account{text("p" + std::to_string(input_.below(4))),
                                                AccountId(value<std::int32_t>())};
                    accounts.insert_or_assign(account.name, account);
                    break;
                }
                default:
                    rest_of(state);
            }
        }
        for (auto& [id, server] : servers) state.servers.push_back(std::move(server));
        for (auto& [lobby, match] : matches) {
            const bool over = match.state == MatchState::ended || match.state == MatchState::aborted;
            if (over) state.over.push_back({match.ended_at, lobby, match.server, match.state});
            if (!over || match.untold_event != 0) state.matches.push_back(std::move(match));
        }
        std::sort(state.over.begin(), state.over.end());
        for (auto& [lobby, list] : lists) state.players.push_back(std::move(list));
        for (auto& [name, account] : accounts) state.accounts.push_back(std::move(account));
        // A table has one row of a key.
        const auto named_less = [](const auto& one, const auto& other) { return one.name < other.name; };
        const auto same_name = [](const auto& one, const auto& other) { return one.name == other.name; };
        std::ranges::stable_sort(state.hosts, named_less);
        state.hosts.erase(std::unique(state.hosts.begin(), state.hosts.end(), same_name), state.hosts.end());
        return state;
    }

    ServerRecord server_row() {
        ServerRecord server;
        server.id = ServerId(value<std::int32_t>());
        server.ip = IpAddress::v4({10, 0, 0, static_cast<std::uint8_t>(input_.below(3))});
        server.port = static_cast<std::uint16_t>(7000 + server.id.value % 8);
        server.region = RegionId(input_.flag() ? std::int8_t{0} : value<std::int8_t>());
        server.epoch = value<std::int64_t>();
        server.max_matches = value<std::int32_t>();
        server.drained_by_server = input_.flag();
        server.drained_by_operator = input_.flag();
        server.registered_at = date();
        server.drain = {text(""), text(""), date()};
        return server;
    }

    MatchRecord match_row() {
        MatchRecord match;
        match.lobby = LobbyId(value<std::int32_t>());
        match.matchmaker = text(input_.flag() ? "a" : "@http");
        match.region = RegionId(value<std::int8_t>());
        match.game_type = value<std::int8_t>();
        match.player_count = value<std::int8_t>();
        match.state = static_cast<MatchState>(input_.below(6));
        match.reason = text("");
        match.server = ServerId(value<std::int32_t>());
        match.server_epoch = value<std::int64_t>();
        match.server_ip = text("10.0.0.1");
        match.server_port = value<std::int32_t>();
        match.token = text("MATCH_1_x_1");
        match.requested_at = date();
        match.allocated_at = date();
        match.ready_at = date();
        match.started_at = date();
        match.ended_at = date();
        match.untold_event = input_.below(4) == 0 ? input_.byte() : std::uint8_t{0};
        return match;
    }

    std::string host_name() { return text("h-" + std::to_string(input_.below(3))); }

    HostRecord host_row() {
        HostRecord host;
        host.name = host_name();
        host.address = text("10.0.0.1");
        host.region = RegionId(value<std::int8_t>());
        host.version = text("1.0");
        host.draining = input_.flag();
        host.joined_at = date();
        if (input_.flag()) host.lost_at = date();
        return host;
    }

    HostProcessRecord host_process_row() {
        HostProcessRecord process;
        process.host = host_name();
        process.name = text("p-" + std::to_string(input_.below(3)));
        process.run = text("arena");
        process.state = static_cast<ProcessState>(input_.below(process_state_count));
        process.pid = value<std::int32_t>();
        process.port = value<std::int32_t>();
        process.server = ServerId(value<std::int32_t>());
        process.started_at = date();
        process.restarts = value<std::int32_t>();
        process.exit_at = date();
        process.exit_code = value<std::int32_t>();
        process.exit_signal = value<std::int32_t>();
        process.exit_reason = text("signal 9 (SIGKILL)");
        return process;
    }

    void rest_of(RecoveredState& state) {
        switch (input_.below(5)) {
            case 0:
                state.hosts.push_back(host_row());
                break;
            case 1:
                state.host_processes.push_back(host_process_row());
                break;
            case 2:
                state.owed_aborts.push_back({IpAddress::v4({10, 0, 0, 1}),
                                             static_cast<std::uint16_t>(7000 + input_.below(8)),
                                             LobbyId(value<std::int32_t>())});
                break;
            case 3:
                state.has_clock = true;
                state.clock = {value<std::int64_t>(), value<std::int32_t>()};
                break;
            default:
                state.numbers = {value<std::int32_t>(), value<std::int64_t>(), value<std::int64_t>()};
        }
    }

    void come_back(FuzzWorld& world, const RecoveredState& state) {
        FuzzWorld::Socket& matchmaker = world.link(FuzzWorld::links_max - 1);
        world.open(matchmaker, Port::matchmakers);
        world.say(matchmaker, MatchmakerHandshake{"t", "a", {{RegionId(0), RegionId(2)}}});
        for (std::size_t i = 0; i < state.servers.size() && i + 2 < FuzzWorld::links_max; ++i) {
            const ServerRecord& server = state.servers[i];
            FuzzWorld::Socket& link = world.link(i);
            world.open(link, Port::servers);
            world.say(link, ServerHandshake{"t", GameEndpoint{IpText(server.ip.to_string()), server.port},
                                            input_.flag() ? RegionId(0) : server.region, 5});
        }
        if (!state.over.empty()) {  // those before the latest may be forgotten by now
            const LobbyId over = state.over.back().lobby;
            world.say(matchmaker, AllocationRequest{over, 6, 0, RegionId(0), 4, 1650});
            MUSTER_CHECK(!world.is_offered(over), "a lobby that is over is not offered again");
        }
        for (const MatchRecord& match : state.matches) {
            if (MatchTokenText::fits(match.token))
                world.say(matchmaker, AllocationRequest{match.lobby, 6, 0, RegionId(0), 4, 1650});
            const bool holds = input_.flag();
            for (std::size_t i = 0; i + 1 < FuzzWorld::links_max; ++i)
                world.say(world.link(i), AllocateMatchAck{holds, match.lobby});
        }
        if (!state.hosts.empty() && input_.flag()) {
            FuzzWorld::Socket& agent = world.link(FuzzWorld::links_max - 2);
            world.open(agent, Port::servers);
            world.say(agent, HostHello{"t", HostNameText(state.hosts[0].name), "10.0.0.1", RegionId(0), "1.0"});
            world.say(agent, HostReport{});
        }
        world.advance(input_.flag() ? 10s : 150s);
    }

    FuzzInput input_;
};

}  // namespace
}  // namespace muster::fuzz

FUZZ_INPUTS_UP_TO(1'024);

FUZZ_TARGET("fault 6, X-4: rows of any kind are refused with a reason, or core starts from them and comes to rest") {
    if (size > size_max) return -1;
    muster::fuzz::RowPlay({data, size}).run();
    return 0;
}
