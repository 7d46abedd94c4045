#include "postgres/pg_matches.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "postgres/pg_column.h"
#include "store/latest_state.h"

namespace muster {
namespace {

using Type = PgColumn::Type;

PgColumn lobbies_of(const std::vector<const MatchRecord*>& matches) {
    PgColumn lobbies(Type::integer);
    for (const MatchRecord* match : matches) lobbies.add(match->lobby.value);
    return lobbies;
}

// An index tells by this alone which matches are over: state changes too often to be in one.
std::int64_t ended_at(const MatchRecord& match) {
    return is_over(match.state) ? std::max<std::int64_t>(1, match.ended_at.value) : 0;
}

}  // namespace

void PgMatches::prepare(PgConnection& connection) {
    // A lobby that comes again after its end starts without the uses of the match before. The match is asked for by its
    // key, in a question of its own: a join may begin with all matches that are over.
    connection.prepare("drop_old_uses",
                       "DELETE FROM muster.token_uses WHERE lobby = ANY ($2::integer[]) AND (SELECT cell = $1 AND"
                       " state >= 4 FROM muster.matches WHERE matches.lobby = token_uses.lobby)");
    // Another cell's lobby is not changed, and comes back (N-8).
    connection.prepare(
        "put_matches",
        "WITH put AS (INSERT INTO muster.matches SELECT l, $1, m, r, gt, gm, pc, ar, st, re, s, se, si, sp, tk, qa, aa,"
        " ra, sa, ea, ue FROM unnest($2::integer[], $3::text[], $4::integer[], $5::integer[], $6::integer[],"
        " $7::integer[], $8::integer[], $9::integer[], $10::text[], $11::integer[], $12::bigint[], $13::text[],"
        " $14::integer[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[],"
        " $21::integer[]) AS row (l, m, r, gt, gm, pc, ar, st, re, s, se, si, sp, tk, qa, aa, ra, sa, ea, ue)"
        " ON CONFLICT (lobby) DO UPDATE SET matchmaker = excluded.matchmaker, region = excluded.region,"
        " game_type = excluded.game_type, game_mode = excluded.game_mode, player_count = excluded.player_count,"
        " average_rating = excluded.average_rating, state = excluded.state, reason = excluded.reason,"
        " server = excluded.server, server_epoch = excluded.server_epoch, server_ip = excluded.server_ip,"
        " server_port = excluded.server_port, token = excluded.token, requested_at = excluded.requested_at,"
        " allocated_at = excluded.allocated_at, ready_at = excluded.ready_at, started_at = excluded.started_at,"
        " ended_at = excluded.ended_at, untold_event = excluded.untold_event"
        " WHERE muster.matches.cell = excluded.cell RETURNING lobby)"
        " SELECT l FROM unnest($2::integer[]) AS asked (l) WHERE l NOT IN (SELECT lobby FROM put)");
    // One row too few has no square root: the transaction fails instead of changing fewer.
    connection.prepare(
        "change_matches",
        "WITH changed AS (UPDATE muster.matches SET state = st, reason = re, token = CASE WHEN st < 4 THEN token ELSE "
        "'' END,"
        " allocated_at = aa, ready_at = ra, started_at = sa, ended_at = ea, untold_event = ue"
        " FROM unnest($2::integer[], $3::integer[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],"
        " $8::bigint[], $9::integer[]) AS row (l, st, re, aa, ra, sa, ea, ue)"
        " WHERE lobby = l AND cell = $1 AND state < 4 RETURNING 1)"
        " SELECT sqrt((count(*) - cardinality($2::integer[]))::double precision) FROM changed");
}

void PgMatches::begin() {
    whole_at_.clear();
    of_others_.clear();
}

bool PgMatches::has_end_of(LobbyId lobby) const {
    const auto found = collected_.find(lobby);
    return found != collected_.end() && is_over(found->second->state);
}

void PgMatches::send(PgConnection& to) {
    std::vector<const MatchRecord*> whole;
    std::vector<const MatchRecord*> changes;
    std::vector<const MatchRecord*> over;
    std::vector<const MatchRecord*> alive;  // of the whole ones
    for (const auto& [lobby, match] : collected_) {
        const Fixed fixed = fixed_of(*match);
        const bool is_past = is_over(match->state);
        const bool is_change = is_there(*match, fixed);
        (is_change ? changes : whole).push_back(match);
        if (is_past) over.push_back(match);
        if (!is_past && !is_change) alive.push_back(match);
        touched_[lobby] = is_past ? std::nullopt : std::optional(fixed);
    }
    collected_.clear();
    const auto drop = [&](const char* statement, const std::vector<const MatchRecord*>& of) {
        PgColumn lobbies = lobbies_of(of);
        to.send(statement, PgValues(cell_).add(lobbies));
    };
    if (!alive.empty()) drop("drop_old_uses", alive);
    if (!whole.empty()) send_whole(to, whole);
    if (!changes.empty()) send_changes(to, changes);
    if (over.empty()) return;
    // What was said of a match that is over is of the past.
    drop("drop_old_uses", over);
    drop("drop_lists", over);
}

void PgMatches::send_whole(PgConnection& to, const std::vector<const MatchRecord*>& matches) {
    constexpr std::array types{Type::integer, Type::text,    Type::integer, Type::integer, Type::integer,
                               Type::integer, Type::integer, Type::integer, Type::text,    Type::integer,
                               Type::bigint,  Type::text,    Type::integer, Type::text,    Type::bigint,
                               Type::bigint,  Type::bigint,  Type::bigint,  Type::bigint,  Type::integer};
    std::vector<PgColumn> columns(types.begin(), types.end());
    for (const MatchRecord* match : matches) {
        std::size_t column = 0;
        const auto add = [&](const auto& value) { columns[column++].add(value); };
        add(match->lobby.value);
        add(std::string_view(match->matchmaker));
        add(match->region.value);
        add(match->game_type);
        add(match->game_mode);
        add(match->player_count);
        add(match->average_rating);
        add(static_cast<std::int64_t>(match->state));
        add(std::string_view(match->reason));
        add(match->server.value);
        add(match->server_epoch);
        add(std::string_view(match->server_ip));
        add(match->server_port);
        add(is_over(match->state) ? std::string_view() : std::string_view(match->token));
        add(match->requested_at.value);
        add(match->allocated_at.value);
        add(match->ready_at.value);
        add(match->started_at.value);
        add(ended_at(*match));
        add(match->untold_event);
    }
    PgValues values(cell_);
    for (PgColumn& column : columns) values.add(column);
    whole_at_.push_back(to.send("put_matches", values));
}

void PgMatches::send_changes(PgConnection& to, const std::vector<const MatchRecord*>& matches) {
    constexpr std::array types{Type::integer, Type::text,   Type::bigint, Type::bigint,
                               Type::bigint,  Type::bigint, Type::integer};
    PgColumn lobbies = lobbies_of(matches);
    std::vector<PgColumn> columns(types.begin(), types.end());
    for (const MatchRecord* match : matches) {
        std::size_t column = 0;
        const auto add = [&](const auto& value) { columns[column++].add(value); };
        add(static_cast<std::int64_t>(match->state));
        add(std::string_view(match->reason));
        add(match->allocated_at.value);
        add(match->ready_at.value);
        add(match->started_at.value);
        add(ended_at(*match));
        add(match->untold_event);
    }
    PgValues values(cell_);
    values.add(lobbies);
    for (PgColumn& column : columns) values.add(column);
    to.send("change_matches", values);
}

void PgMatches::answered(std::size_t place, const PgRows& rows) {
    if (!std::ranges::binary_search(whole_at_, place)) return;
    for (std::size_t row = 0; row < rows.size(); ++row)
        of_others_.insert(LobbyId(static_cast<std::int32_t>(rows.integer(row, 0))));
}

void PgMatches::committed() {
    for (const auto& [lobby, fixed] : touched_) {
        if (fixed && !of_others_.contains(lobby))
            known_[lobby.value] = *fixed;
        else
            known_.erase(lobby.value);
    }
    touched_.clear();
}

void PgMatches::rolled_back() {
    collected_.clear();
    touched_.clear();
}

PgMatches::Fixed PgMatches::fixed_of(const MatchRecord& match) {
    std::uint64_t digest = 0;
    const auto mix = [&](std::uint64_t part) {
        digest = (digest ^ part) * 0x9E3779B97F4A7C15;
        digest ^= digest >> 32;
    };
    const auto text = [](std::string_view part) { return std::uint64_t{std::hash<std::string_view>()(part)}; };
    mix(text(match.matchmaker));
    mix(static_cast<std::uint64_t>(match.region.value));
    mix(static_cast<std::uint64_t>(match.game_type));
    mix(static_cast<std::uint64_t>(match.game_mode));
    mix(static_cast<std::uint64_t>(match.player_count));
    mix(static_cast<std::uint64_t>(match.average_rating));
    mix(static_cast<std::uint64_t>(match.server.value));
    mix(static_cast<std::uint64_t>(match.server_epoch));
    mix(text(match.server_ip));
    mix(static_cast<std::uint64_t>(match.server_port));
    mix(static_cast<std::uint64_t>(match.requested_at.value));
    return {digest, text(match.token)};
}

// What this transaction has touched before is written whole: nobody knows yet whose it is.
bool PgMatches::is_there(const MatchRecord& match, const Fixed& fixed) const {
    if (touched_.contains(match.lobby)) return false;
    const auto known = known_.find(match.lobby.value);
    if (known == known_.end() || known->second.digest != fixed.digest) return false;
    return is_over(match.state) || known->second.token == fixed.token;
}

}  // namespace muster
