#include "core/recovery_check.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/utf8.h"
#include "core/block_value.h"
#include "core/known_host.h"
#include "core/operator_name.h"
#include "core/world_clock.h"
#include "protocol/text.h"

namespace muster {
namespace {

// Far from where they end, so that there is always a next block.
constexpr std::int64_t number_max = std::int64_t{1} << 62;
// What nanoseconds since 1970 can say.
constexpr std::int64_t time_max_ms = std::numeric_limits<std::int64_t>::max() / 1'000'000;
constexpr std::int32_t capacity_max = 10'000;
constexpr std::size_t listed_max = 127;

// Remembers the first thing that is wrong.
class Judge {
public:
    explicit Judge(const RecoveredState& state) : state_(state) {}

    std::optional<std::string> damage() {
        numbers();
        servers();
        matches();
        players();
        accounts();
        operators();
        blocks();
        hosts();
        host_processes();
        for (const LobbyOver& over : state_.over) {
            lobby("matches", over.lobby);
            time("matches", over.at);
        }
        for (const TokenUsed& use : state_.tokens_used) lobby("token_uses", use.lobby);
        for (const AbortOwed& owed : state_.owed_aborts) lobby("owed_aborts", owed.lobby);
        if (state_.has_clock) {
            expect(state_.clock.elapsed_game_ms >= 0, "world_clock", "a negative time");
            number("world_clock", "speed", state_.clock.speed, 1, WorldClock::speed_max);
        }
        return std::move(damage_);
    }

private:
    void numbers() {
        const NumbersReserved& given = state_.numbers;
        number("numbers_reserved", "server ids", given.server_ids_below, 1,
               std::numeric_limits<std::int32_t>::max() - 1);  // with none left nobody could register
        number("numbers_reserved", "epochs", given.epochs_below, 1, number_max);
        number("numbers_reserved", "event ids", given.event_ids_below, 1, number_max);
    }

    void servers() {
        std::vector<std::pair<IpAddress, std::uint16_t>> endpoints;
        endpoints.reserve(state_.servers.size());
        for (const ServerRecord& server : state_.servers) {
            given_out("id", server.id.value, state_.numbers.server_ids_below);
            given_out("epoch", server.epoch, state_.numbers.epochs_below);
            number("servers", "capacity", server.max_matches, 1, capacity_max);
            time("servers", server.registered_at);
            endpoints.emplace_back(server.ip, server.port);
        }
        std::sort(endpoints.begin(), endpoints.end());
        const auto twice = std::adjacent_find(endpoints.begin(), endpoints.end());
        if (twice != endpoints.end())
            expect(false, "servers", fmt::format("{} port {} twice", twice->first.to_string(), twice->second));
    }

    void matches() {
        for (const MatchRecord& match : state_.matches) {
            lobby("matches", match.lobby);
            number("matches", "player count", match.player_count, 1, std::numeric_limits<std::int8_t>::max());
            number("matches", "port", match.server_port, 0, std::numeric_limits<std::uint16_t>::max());
            text<MatchmakerIdText>("matches", "matchmaker", match.matchmaker);
            text<ReasonText>("matches", "reason", match.reason);
            text<IpText>("matches", "server address", match.server_ip);
            text<MatchTokenText>("matches", "token", match.token);
            for (const UnixMs at :
                 {match.requested_at, match.allocated_at, match.ready_at, match.started_at, match.ended_at})
                time("matches", at);
        }
    }

    void players() {
        for (const PlayersRecord& list : state_.players) {
            lobby("player_lists", list.lobby);
            text<MatchmakerIdText>("player_lists", "matchmaker", list.matchmaker);
            number("match_players", "players", static_cast<std::int64_t>(list.accounts.size()), 0, listed_max);
        }
    }

    void accounts() {
        std::set<AccountId> known;
        for (const AccountRecord& account : state_.accounts) {
            text<NameText>("accounts", "name", account.name);
            number("accounts", "account", account.account.value, 1, std::numeric_limits<std::int32_t>::max() - 1);
            if (!known.insert(account.account).second)
                expect(false, "accounts", fmt::format("account {} twice", account.account.value));
        }
    }

    void operators() {
        for (const OperatorRecord& known : state_.operators) {
            expect(is_operator_name(known.name), "operators", "a name that is none");
            const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
            expect(known.token_hash.size() == 64 && std::ranges::all_of(known.token_hash, is_digit), "operators",
                   "a hash that is none");
            time("operators", known.added_at);
        }
    }

    void blocks() {
        for (const BlockRecord& block : state_.blocks) {
            expect(block_value(block.kind, block.value) == block.value, "blocks", "a value that is none");
            time("blocks", block.blocked_at);
            time("blocks", block.until);
        }
    }

    void hosts() {
        for (const HostRecord& host : state_.hosts) {
            host_name<HostNameText>("hosts", host.name);
            expect(host.address.empty() || IpAddress::parse(host.address), "hosts", "an address that is none");
            text<VersionText>("hosts", "version", host.version);
            time("hosts", host.joined_at);
            time("hosts", host.lost_at);
        }
    }

    void host_processes() {
        constexpr std::string_view table = "host_processes";
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        for (const HostProcessRecord& process : state_.host_processes) {
            host_name<HostNameText>(table, process.host);
            host_name<ProcessNameText>(table, process.name);
            host_name<RunNameText>(table, process.run);
            number(table, "pid", process.pid, 0, most);
            number(table, "port", process.port, 0, std::numeric_limits<std::uint16_t>::max());
            number(table, "server", process.server.value, 0, most);
            number(table, "restarts", process.restarts, 0, most);
            number(table, "exit code", process.exit_code, -1, most);
            number(table, "exit signal", process.exit_signal, 0, most);
            text<ReasonText>(table, "reason", process.exit_reason);
            time(table, process.started_at);
            time(table, process.exit_at);
        }
    }

    template <class Field>
    void host_name(std::string_view table, std::string_view name) {
        expect(is_host_name(name) && Field::fits(name), table, "a name that is none");
    }
    void given_out(std::string_view what, std::int64_t value, std::int64_t below) {
        if (value < 1 || value >= below)
            expect(false, "servers", fmt::format("{} {}, which was never given out", what, value));
    }
    void lobby(std::string_view table, LobbyId lobby) {
        number(table, "lobby", lobby.value, 1, std::numeric_limits<std::int32_t>::max());
    }
    void time(std::string_view table, UnixMs at) { number(table, "time", at.value, 0, time_max_ms); }
    void number(std::string_view table, std::string_view what, std::int64_t value, std::int64_t least,
                std::int64_t most) {
        if (value < least || value > most)
            expect(false, table, fmt::format("{} {}, which is out of range", what, value));
    }
    // Says nothing of the text itself: it may be a token.
    template <class Field>
    void text(std::string_view table, std::string_view what, std::string_view value) {
        if (!Field::fits(value) || !is_utf8(value)) expect(false, table, fmt::format("a {} that is none", what));
    }
    void expect(bool good, std::string_view table, std::string_view what) {
        if (!good && !damage_) damage_ = fmt::format("{} holds {}", table, what);
    }

    const RecoveredState& state_;
    std::optional<std::string> damage_;
};

}  // namespace

std::optional<std::string> damage_of(const RecoveredState& state) {
    return Judge(state).damage();
}

}  // namespace muster
