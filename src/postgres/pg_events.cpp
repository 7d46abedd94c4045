#include "postgres/pg_events.h"

#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "store/block_walk.h"

namespace muster {
namespace {

// Blocks that one question brings: a page of events mostly lies in one.
constexpr int blocks_per_question = 32;

// bytea as text is \x and two hexadecimal digits a byte.
std::string bytes_of(std::string_view hex) {
    const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); };
    std::string bytes;
    bytes.reserve(hex.size() / 2);
    for (std::size_t i = 2; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1])));
    return bytes;
}

}  // namespace

EventsFound find_pg_events(PgConnection& connection, const std::string& cell, const EventSearch& search) {
    EventWalk walk(search);
    const bool is_newer = search.towards == EventSearch::Towards::newer;
    const std::int64_t from_time = search.filter.since_ms.value_or(std::numeric_limits<std::int64_t>::min());
    const std::int64_t to_time = search.filter.until_ms.value_or(std::numeric_limits<std::int64_t>::max());
    std::int64_t from = search.from;
    while (walk.wants_more()) {
        const PgRows blocks =
            connection.run(is_newer ? "SELECT first_id, last_id, events, first_time FROM muster.event_blocks WHERE "
                                      "cell = $1 AND last_id > $2"
                                      " AND last_time >= $3 AND first_time < $4 ORDER BY first_id LIMIT $5"
                                    : "SELECT first_id, last_id, events, first_time FROM muster.event_blocks WHERE "
                                      "cell = $1 AND first_id < $2"
                                      " AND last_time >= $3 AND first_time < $4 ORDER BY first_id DESC LIMIT $5",
                           PgValues(cell, from, from_time, to_time, blocks_per_question));
        for (std::size_t row = 0; row < blocks.size() && walk.wants_more(); ++row) {
            const std::string bytes = bytes_of(blocks.text(row, 2));
            const BlockRow about{blocks.integer(row, 0), blocks.integer(row, 1), blocks.integer(row, 3)};
            tell_block(about, bytes, search, walk);
            from = is_newer ? about.last_id : about.first_id;
        }
        if (blocks.size() < static_cast<std::size_t>(blocks_per_question) && walk.wants_more()) walk.end();
    }
    return walk.take();
}

void send_pg_pruning(PgConnection& connection, const std::string& cell, const KeptPast& kept, int rows) {
    connection.send_sql(
        "DELETE FROM muster.event_blocks WHERE cell = $1 AND first_id IN (SELECT first_id FROM muster.event_blocks"
        " WHERE cell = $1 AND last_time < $2 ORDER BY first_id LIMIT $3)",
        PgValues(cell, kept.since.value, rows));
    connection.send_sql(
        "DELETE FROM muster.servers WHERE id IN (SELECT id FROM muster.servers WHERE cell = $1 AND removed_at < $2"
        " ORDER BY removed_at LIMIT $3)",
        PgValues(cell, kept.since.value, rows));
    connection.send_sql(
        "DELETE FROM muster.player_lists WHERE cell = $1 AND lobby IN (SELECT lobby FROM muster.player_lists AS list"
        " WHERE cell = $1 AND given_at < $2 AND NOT EXISTS (SELECT 1 FROM muster.matches WHERE"
        " matches.lobby = list.lobby AND matches.cell = list.cell AND state < 4) ORDER BY given_at LIMIT $3)",
        PgValues(cell, kept.since.value, rows));
    // The latest lobbies are remembered whatever their age.
    const std::int64_t since = std::min(kept.since.value, kept.lobbies_since.value);
    connection.send_sql(
        "DELETE FROM muster.matches WHERE lobby IN (SELECT lobby FROM muster.matches WHERE cell = $1 AND ended_at > 0"
        " AND ended_at < least($2, CASE WHEN $3 = 0 THEN $2 ELSE coalesce((SELECT ended_at FROM muster.matches WHERE"
        " ended_at > 0 ORDER BY ended_at DESC LIMIT 1 OFFSET greatest($3 - 1, 0)), $2 - 9000000000000000) END)"
        " ORDER BY ended_at LIMIT $4)",
        PgValues(cell, since, static_cast<std::int64_t>(kept.lobbies_least), rows));
}

void send_pg_shrinking(PgConnection& connection, const std::string& cell, int rows) {
    connection.send_sql(
        "DELETE FROM muster.event_blocks WHERE cell = $1 AND first_id IN (SELECT first_id FROM muster.event_blocks"
        " WHERE cell = $1 ORDER BY first_id LIMIT $2)",
        PgValues(cell, rows));
}

PgPast measure_pg_past(PgConnection& connection, const std::string& cell, const KeptPast& kept) {
    const PgRows past = connection.run(
        "SELECT coalesce(sum(octet_length(events)), 0)::bigint, coalesce(bool_or(last_time < $2), false)"
        " FROM muster.event_blocks WHERE cell = $1",
        PgValues(cell, kept.since.value));
    return {past.integer(0, 0), past.flag(0, 1)};
}

}  // namespace muster
