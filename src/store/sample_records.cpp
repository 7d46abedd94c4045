#include "store/sample_records.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/packed_fields.h"

namespace muster {
namespace {

// Texts with what SQL, C and UTF-8 could stumble over.
std::string random_text(Random& random) {
    static const std::string texts[] = {
        "", "eu-1", "it's; -- \"quoted\" %s", std::string("a\0b", 3), "Prøve 本 🎮", std::string(256, 'x')};
    return texts[random.below(std::size(texts))];
}

IpAddress random_ip(Random& random) {
    if (random.chance(0.5)) return IpAddress::v4({10, 0, 0, static_cast<std::uint8_t>(random.below(256))});
    return *IpAddress::parse(random.chance(0.5) ? "2001:db8::7" : "::1");
}

// A time in the days before `now`, so that some of the past is older than the history.
UnixMs random_time(Random& random, UnixMs now) {
    constexpr std::int64_t ten_days_ms = 10LL * 24 * 3600 * 1000;
    return UnixMs{now.value - random.between(0, ten_days_ms)};
}

ServerRecord random_server(Random& random, UnixMs now) {
    ServerRecord server;
    server.id = ServerId(static_cast<std::int32_t>(random.between(1, 6)));
    server.ip = random_ip(random);
    server.port = static_cast<std::uint16_t>(random.between(1024, 65535));
    server.region = RegionId(static_cast<std::int8_t>(random.between(-128, 127)));
    server.epoch = random.between(1, 1'000'000'000'000);
    server.max_matches = static_cast<std::int32_t>(random.between(1, 10'000));
    server.drained_by_server = random.chance(0.3);
    server.drained_by_operator = random.chance(0.3);
    server.registered_at = random_time(random, now);
    if (server.drained_by_operator)
        server.drain = {"10.0.0.7", random.chance(0.5) ? "new \"version\"" : "", random_time(random, now)};
    if (random.chance(0.3)) server.name = random_text(random);
    return server;
}

OperatorRecord random_operator(Random& random, UnixMs now) {
    OperatorRecord made;
    made.name = random_text(random);
    made.role = static_cast<OperatorRole>(random.below(4));
    made.token_hash = std::string(64, random.chance(0.5) ? 'a' : '0');
    made.added_by = random_text(random);
    made.added_at = random_time(random, now);
    return made;
}

BlockRecord random_block(Random& random, UnixMs now) {
    BlockRecord block;
    block.kind = static_cast<BlockKind>(random.below(3));
    block.value = random_text(random);
    block.reason = random_text(random);
    block.blocked_by = random_text(random);
    block.blocked_at = random_time(random, now);
    if (random.chance(0.5)) block.until = random_time(random, now);
    return block;
}

HostRecord random_host(Random& random, UnixMs now) {
    HostRecord host;
    host.name = random_text(random);
    host.address = random.chance(0.5) ? "10.0.0.7" : "";
    host.region = RegionId(static_cast<std::int8_t>(random.between(-128, 127)));
    host.version = random_text(random);
    host.draining = random.chance(0.3);
    host.joined_at = random_time(random, now);
    if (random.chance(0.5)) host.lost_at = random_time(random, now);
    return host;
}

HostProcessRecord random_host_process(Random& random, UnixMs now) {
    HostProcessRecord process;
    process.host = random_text(random);
    process.name = random_text(random);
    process.run = random_text(random);
    process.state = static_cast<ProcessState>(random.below(process_state_count));
    process.pid = static_cast<std::int32_t>(random.between(0, INT32_MAX));
    process.port = static_cast<std::int32_t>(random.between(0, 65535));
    process.server = ServerId(static_cast<std::int32_t>(random.between(0, 6)));
    process.started_at = random_time(random, now);
    process.restarts = static_cast<std::int32_t>(random.between(0, INT32_MAX));
    if (random.chance(0.5)) process.exit_at = random_time(random, now);
    process.exit_code = static_cast<std::int32_t>(random.between(-1, 255));
    process.exit_signal = static_cast<std::int32_t>(random.between(0, 64));
    process.exit_reason = random_text(random);
    return process;
}

MatchRecord random_match(Random& random, UnixMs now) {
    const auto lobby = static_cast<std::int32_t>(random.between(1, 8));
    MatchRecord match = sample_match(lobby, static_cast<MatchState>(random.below(6)), random_time(random, now));
    if (random.chance(0.3)) match.token = "MATCH_forgotten_in_a_record";
    match.matchmaker = random_text(random);
    match.reason = random_text(random);
    match.region = RegionId(static_cast<std::int8_t>(random.between(-128, 127)));
    match.player_count = static_cast<std::int8_t>(random.between(1, 127));
    match.average_rating = static_cast<std::int32_t>(random.between(INT32_MIN, INT32_MAX));
    match.server = ServerId(static_cast<std::int32_t>(random.between(1, 6)));
    match.untold_event = static_cast<std::uint8_t>(random.chance(0.5) ? 0 : random.between(1, 4));
    return match;
}

PlayersRecord random_players(Random& random) {
    PlayersRecord players;
    players.lobby = LobbyId(static_cast<std::int32_t>(random.between(1, 8)));
    players.matchmaker = random_text(random);
    const std::uint64_t count = random.below(4);
    for (std::uint64_t i = 0; i < count; ++i)
        players.accounts.emplace_back(static_cast<std::int32_t>(random.between(1, 5)));
    return players;
}

}  // namespace

ServerRecord sample_server(std::int32_t id) {
    ServerRecord server;
    server.id = ServerId(id);
    server.ip = IpAddress::v4(
        {10, static_cast<std::uint8_t>(id >> 16), static_cast<std::uint8_t>(id >> 8), static_cast<std::uint8_t>(id)});
    server.port = 11235;
    server.region = RegionId(2);
    server.epoch = id;
    server.max_matches = 50;
    server.registered_at = UnixMs{1'699'999'000'000 + id};
    return server;
}

MatchRecord sample_match(std::int32_t lobby, MatchState state, UnixMs now) {
    MatchRecord match;
    match.lobby = LobbyId(lobby);
    match.matchmaker = "chat-1";
    match.region = RegionId(2);
    match.game_type = 3;
    match.game_mode = 6;
    match.player_count = 10;
    match.average_rating = 1500;
    match.state = state;
    match.server = ServerId(7);
    match.server_epoch = 70;
    match.server_ip = "10.0.0.7";
    match.server_port = 11235;
    match.requested_at = UnixMs{now.value - 5'000};
    if (state >= MatchState::allocated) match.allocated_at = UnixMs{now.value - 4'000};
    if (state >= MatchState::ready) match.ready_at = UnixMs{now.value - 3'000};
    if (state >= MatchState::started) match.started_at = UnixMs{now.value - 2'000};
    if (state >= MatchState::ended) {
        match.ended_at = now;
    } else {
        match.token = fmt::format("MATCH_{}_11111111-2222-4333-8444-555555555555_{}", lobby, now.value / 1000);
    }
    return match;
}

EventRecord sample_event(std::int64_t id, UnixMs time) {
    PackedFields fields;
    fields.integer("lobby_id", id);
    fields.integer("server_id", 7);
    return {id, time, "match.allocated", fields.finish()};
}

Record random_record(Random& random, UnixMs now) {
    const LobbyId lobby(static_cast<std::int32_t>(random.between(1, 8)));
    const AccountId account(static_cast<std::int32_t>(random.between(1, 5)));
    const auto port = static_cast<std::uint16_t>(random.between(7000, 7002));
    switch (random.below(27)) {
        case 0:
            return random_server(random, now);
        case 1:
            return ServerRemoved{ServerId(static_cast<std::int32_t>(random.between(1, 6)))};
        case 2:
            return MatchForgotten{lobby};
        case 3:
            return random_players(random);
        case 4:
        case 5:
            return TokenUsed{lobby, account};
        case 6:
            return NumbersReserved{static_cast<std::int32_t>(random.between(1, 1000)), random.between(1, 1000),
                                   random.between(1, 1000)};
        case 7:
            return ClockRecord{random.between(0, INT64_MAX), static_cast<std::int32_t>(random.between(1, 3600)),
                               static_cast<std::int32_t>(random.between(1, 3600))};
        case 8:
            return AccountRecord{random_text(random), account};
        case 9:
            return sample_event(random.between(1, 50), random_time(random, now));
        case 10:
            return PlayersForgotten{lobby};
        case 11:
            return TokenReleased{lobby, account};
        case 12:
            return EventTold{lobby};
        case 13:
            return AbortOwed{*IpAddress::parse("10.0.0.1"), port, lobby};
        case 14:
            return AbortsTold{*IpAddress::parse("10.0.0.1"), port};
        case 15:
            return random_operator(random, now);
        case 16:
            return OperatorRemoved{random_text(random)};
        case 17:
            return random_block(random, now);
        case 18:
            return BlockRemoved{static_cast<BlockKind>(random.below(3)), random_text(random)};
        case 19:
        case 20:
            return random_host(random, now);
        case 21:
            return HostForgotten{random_text(random)};
        case 22:
        case 23:
            return random_host_process(random, now);
        case 24:
            return HostProcessForgotten{random_text(random), random_text(random)};
        case 25:
            return AbortSettled{*IpAddress::parse("10.0.0.1"), port, lobby};
        case 26:
            return PlayerNotice{lobby,      static_cast<PlayerNotice::Kind>(random.below(3)),
                                "10.0.0.1", 7'000,
                                "token",    random_text(random),
                                {account}};
        case 27:
            return NoticeTold{random.between(1, 50)};
        default:
            return random_match(random, now);
    }
}

RecordBatch random_batch(Random& random, std::uint64_t number, UnixMs now) {
    RecordBatch batch{number, {}};
    const std::uint64_t count = random.below(12);
    for (std::uint64_t i = 0; i < count; ++i) batch.records.push_back(random_record(random, now));
    return batch;
}

std::string as_text(const RecoveredState& state) {
    std::string text = fmt::format("numbers {} {} {}\n", state.numbers.server_ids_below, state.numbers.epochs_below,
                                   state.numbers.event_ids_below);
    for (const ServerRecord& s : state.servers) {
        text += fmt::format("server {} {}:{} region {} epoch {} max {} drained {} {} at {}", s.id.value,
                            s.ip.to_string(), s.port, s.region.value, s.epoch, s.max_matches, s.drained_by_server,
                            s.drained_by_operator, s.registered_at.value);
        if (s.drain != DrainNote{})
            text +=
                fmt::format(" drained by \"{}\" because \"{}\" at {}", s.drain.who, s.drain.reason, s.drain.at.value);
        if (!s.name.empty()) text += fmt::format(" name \"{}\"", s.name);
        text += "\n";
    }
    for (const MatchRecord& m : state.matches)
        text += fmt::format(
            "match {} matchmaker \"{}\" region {} type {} mode {} players {} rating {} state {} reason \"{}\" server "
            "{} "
            "epoch "
            "{} {}:{} token \"{}\" at {} {} {} {} {} untold {}\n",
            m.lobby.value, m.matchmaker, m.region.value, m.game_type, m.game_mode, m.player_count, m.average_rating,
            static_cast<int>(m.state), m.reason, m.server.value, m.server_epoch, m.server_ip, m.server_port, m.token,
            m.requested_at.value, m.allocated_at.value, m.ready_at.value, m.started_at.value, m.ended_at.value,
            m.untold_event);
    for (const TokenUsed& u : state.tokens_used) text += fmt::format("use {} {}\n", u.lobby.value, u.account.value);
    for (const PlayersRecord& p : state.players) {
        text += fmt::format("players {} matchmaker \"{}\":", p.lobby.value, p.matchmaker);
        for (const AccountId account : p.accounts) text += fmt::format(" {}", account.value);
        text += "\n";
    }
    for (const AccountRecord& a : state.accounts) text += fmt::format("account {} \"{}\"\n", a.account.value, a.name);
    for (const LobbyOver& o : state.over)
        text += fmt::format("over {} {} server {} state {}\n", o.lobby.value, o.at.value, o.server.value,
                            static_cast<int>(o.how));
    for (const AbortOwed& o : state.owed_aborts)
        text += fmt::format("owed abort {}:{} {}\n", o.ip.to_string(), o.port, o.lobby.value);
    for (const OperatorRecord& o : state.operators)
        text += fmt::format("operator \"{}\" role {} hash {} by \"{}\" at {}\n", o.name, static_cast<int>(o.role),
                            o.token_hash, o.added_by, o.added_at.value);
    for (const BlockRecord& b : state.blocks)
        text += fmt::format("block {} \"{}\" reason \"{}\" by \"{}\" at {} until {}\n", static_cast<int>(b.kind),
                            b.value, b.reason, b.blocked_by, b.blocked_at.value, b.until.value);
    for (const HostRecord& h : state.hosts)
        text += fmt::format("host \"{}\" address {} region {} version \"{}\" draining {} joined {} lost {}\n", h.name,
                            h.address, h.region.value, h.version, h.draining, h.joined_at.value, h.lost_at.value);
    for (const HostProcessRecord& p : state.host_processes)
        text += fmt::format(
            "process \"{}\" of \"{}\" run \"{}\" state {} pid {} port {} server {} started {} restarts {} exit {} {} "
            "{} \"{}\"\n",
            p.name, p.host, p.run, static_cast<int>(p.state), p.pid, p.port, p.server.value, p.started_at.value,
            p.restarts, p.exit_at.value, p.exit_code, p.exit_signal, p.exit_reason);
    if (state.has_clock)
        text += fmt::format("clock {} {} {}\n", state.clock.elapsed_game_ms, state.clock.speed,
                            state.clock.configured_speed);
    // A zero byte would end the text where it is shown.
    std::replace(text.begin(), text.end(), '\0', '~');
    return text;
}

}  // namespace muster
