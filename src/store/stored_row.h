// What a row of a store's tables means, whichever engine holds it: the columns of each table, in the order in which its
// fields are taken, and what becomes of them. Every number is checked against what its field can hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/ip_address.h"
#include "core/records.h"
#include "store/store.h"
#include "store/store_fault.h"

namespace muster {

// Takes the fields of a row one after the other. `Fields` has integer(), flag() and bytes(), each for the next field.
// Throws StoreError 65 for what Muster never wrote.
template <class Fields>
class StoredRow {
public:
    // For people: where the row stands.
    struct Place {
        std::string_view store{};
        std::string_view table{};
    };

    StoredRow(Fields& fields, const Place& place) : fields_(fields), place_(place) {}

    template <class Number>
    Number number() {
        const std::int64_t stored = fields_.integer();
        if (!std::in_range<Number>(stored)) refuse(fmt::format("{}, which is out of range", stored));
        return static_cast<Number>(stored);
    }
    bool flag() { return fields_.flag(); }
    UnixMs time() { return UnixMs{fields_.integer()}; }
    std::string text() { return std::string(fields_.bytes()); }
    IpAddress ip() {
        const std::string stored = text();
        const auto parsed = IpAddress::parse(stored);
        if (!parsed) refuse(fmt::format("\"{}\", which is no IP address", stored));
        return *parsed;
    }
    // A number that the enumeration has, from 0 to `last`.
    template <class Enum>
    Enum one_of(Enum last, const char* what) {
        const auto stored = number<std::uint8_t>();
        if (stored > static_cast<std::uint8_t>(last)) refuse(fmt::format("{} {}, which is none", what, stored));
        return static_cast<Enum>(stored);
    }
    MatchState match_state() { return one_of(MatchState::aborted, "state"); }

    [[noreturn]] void refuse(const std::string& what) const {
        throw StoreError(exit_damaged, fmt::format("{} is damaged: {} holds {}", place_.store, place_.table, what));
    }

private:
    Fields& fields_;
    const Place place_;
};

inline constexpr std::string_view numbers_columns = "server_ids_below, epochs_below, event_ids_below";
template <class Fields>
NumbersReserved numbers_of(StoredRow<Fields> row) {
    NumbersReserved numbers;
    numbers.server_ids_below = row.template number<std::int32_t>();
    numbers.epochs_below = row.template number<std::int64_t>();
    numbers.event_ids_below = row.template number<std::int64_t>();
    return numbers;
}

inline constexpr std::string_view clock_columns = "elapsed_game_ms, speed, configured_speed";
template <class Fields>
ClockRecord clock_of(StoredRow<Fields> row) {
    ClockRecord clock;
    clock.elapsed_game_ms = row.template number<std::int64_t>();
    clock.speed = row.template number<std::int32_t>();
    clock.configured_speed = row.template number<std::int32_t>();
    return clock;
}

inline constexpr std::string_view server_columns =
    "id, ip, port, region, epoch, max_matches, drained_by_server, drained_by_operator, registered_at, drained_by,"
    " drained_because, drained_at, name";
template <class Fields>
void read_server(StoredRow<Fields> row, ServerRecord& server) {
    server.id = ServerId(row.template number<std::int32_t>());
    server.ip = row.ip();
    server.port = row.template number<std::uint16_t>();
    server.region = RegionId(row.template number<std::int8_t>());
    server.epoch = row.template number<std::int64_t>();
    server.max_matches = row.template number<std::int32_t>();
    server.drained_by_server = row.flag();
    server.drained_by_operator = row.flag();
    server.registered_at = row.time();
    server.drain.who = row.text();
    server.drain.reason = row.text();
    server.drain.at = row.time();
    server.name = row.text();
}

inline constexpr std::string_view match_columns =
    "lobby, matchmaker, region, game_type, game_mode, player_count, average_rating, state, reason, server,"
    " server_epoch, server_ip, server_port, token, requested_at, allocated_at, ready_at, started_at, ended_at,"
    " untold_event";
template <class Fields>
void read_match(StoredRow<Fields> row, MatchRecord& match) {
    match.lobby = LobbyId(row.template number<std::int32_t>());
    match.matchmaker = row.text();
    match.region = RegionId(row.template number<std::int8_t>());
    match.game_type = row.template number<std::int8_t>();
    match.game_mode = row.template number<std::int8_t>();
    match.player_count = row.template number<std::int8_t>();
    match.average_rating = row.template number<std::int32_t>();
    match.state = row.match_state();
    match.reason = row.text();
    match.server = ServerId(row.template number<std::int32_t>());
    match.server_epoch = row.template number<std::int64_t>();
    match.server_ip = row.text();
    match.server_port = row.template number<std::int32_t>();
    match.token = row.text();
    match.requested_at = row.time();
    match.allocated_at = row.time();
    match.ready_at = row.time();
    match.started_at = row.time();
    match.ended_at = row.time();
    match.untold_event = row.template number<std::uint8_t>();
}

inline constexpr std::string_view over_columns = "ended_at, lobby, server, state";
template <class Fields>
LobbyOver over_of(StoredRow<Fields> row) {
    LobbyOver over;
    over.at = row.time();
    over.lobby = LobbyId(row.template number<std::int32_t>());
    over.server = ServerId(row.template number<std::int32_t>());
    over.how = row.match_state();
    return over;
}

inline constexpr std::string_view use_columns = "lobby, account";
template <class Fields>
TokenUsed use_of(StoredRow<Fields> row) {
    TokenUsed use;
    use.lobby = LobbyId(row.template number<std::int32_t>());
    use.account = AccountId(row.template number<std::int32_t>());
    return use;
}

inline constexpr std::string_view account_columns = "name, account";
template <class Fields>
AccountRecord account_of(StoredRow<Fields> row) {
    AccountRecord account;
    account.name = row.text();
    account.account = AccountId(row.template number<std::int32_t>());
    return account;
}

inline constexpr std::string_view owed_abort_columns = "ip, port, lobby";
template <class Fields>
AbortOwed owed_abort_of(StoredRow<Fields> row) {
    AbortOwed owed;
    owed.ip = row.ip();
    owed.port = row.template number<std::uint16_t>();
    owed.lobby = LobbyId(row.template number<std::int32_t>());
    return owed;
}

inline constexpr std::string_view operator_columns = "name, role, token_hash, added_by, added_at";
template <class Fields>
OperatorRecord operator_of(StoredRow<Fields> row) {
    OperatorRecord known;
    known.name = row.text();
    known.role = row.one_of(OperatorRole::admin, "role");
    known.token_hash = row.text();
    known.added_by = row.text();
    known.added_at = row.time();
    return known;
}

inline constexpr std::string_view block_columns = "kind, value, reason, blocked_by, blocked_at, until";
template <class Fields>
BlockRecord block_of(StoredRow<Fields> row) {
    BlockRecord block;
    block.kind = row.one_of(BlockKind::name, "kind");
    block.value = row.text();
    block.reason = row.text();
    block.blocked_by = row.text();
    block.blocked_at = row.time();
    block.until = row.time();
    return block;
}

inline constexpr std::string_view host_columns = "name, address, region, version, draining, joined_at, lost_at";
template <class Fields>
HostRecord host_of(StoredRow<Fields> row) {
    HostRecord host;
    host.name = row.text();
    host.address = row.text();
    host.region = RegionId(row.template number<std::int8_t>());
    host.version = row.text();
    host.draining = row.flag();
    host.joined_at = row.time();
    host.lost_at = row.time();
    return host;
}

inline constexpr std::string_view host_process_columns =
    "host, name, run, state, pid, port, server, started_at, restarts, exit_at, exit_code, exit_signal, exit_reason";
template <class Fields>
HostProcessRecord host_process_of(StoredRow<Fields> row) {
    HostProcessRecord process;
    process.host = row.text();
    process.name = row.text();
    process.run = row.text();
    process.state = row.one_of(ProcessState::stopped, "state");
    process.pid = row.template number<std::int32_t>();
    process.port = row.template number<std::int32_t>();
    process.server = ServerId(row.template number<std::int32_t>());
    process.started_at = row.time();
    process.restarts = row.template number<std::int32_t>();
    process.exit_at = row.time();
    process.exit_code = row.template number<std::int32_t>();
    process.exit_signal = row.template number<std::int32_t>();
    process.exit_reason = row.text();
    return process;
}

}  // namespace muster
