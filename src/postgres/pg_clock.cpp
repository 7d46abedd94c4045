#include "postgres/pg_clock.h"

namespace muster {
namespace {

// Nobody has looked for so long: nobody ran, and the clock stood still. Longer than a look that fails takes.
constexpr const char* elapsed_now =
    "elapsed_game_ms + CASE WHEN at_ms > 0 AND now_ms - at_ms <= 10000 THEN greatest(now_ms - at_ms, 0) * speed ELSE 0"
    " END";
constexpr const char* engine_now =
    "(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) AS engine";

std::string moved_to_now() {
    return std::string("UPDATE muster.world_clock SET elapsed_game_ms = ") + elapsed_now + ", at_ms = now_ms FROM " +
           engine_now;
}

}  // namespace

std::string pg_clock_now() {
    return std::string("SELECT ") + elapsed_now +
           " AS elapsed_game_ms, speed, configured_speed FROM muster.world_clock, " + engine_now;
}

std::optional<ClockRecord> read_pg_clock(PgConnection& connection) {
    // One of those that look in a second moves it.
    static const std::string move = moved_to_now() + " WHERE abs(now_ms - at_ms) >= 1000";
    static const std::string show = pg_clock_now();
    connection.run(move.c_str());
    const PgRows rows = connection.run(show.c_str());
    if (rows.empty()) return std::nullopt;
    ClockRecord shown;
    shown.elapsed_game_ms = rows.integer(0, 0);
    shown.speed = static_cast<std::int32_t>(rows.integer(0, 1));
    shown.configured_speed = static_cast<std::int32_t>(rows.integer(0, 2));
    return shown;
}

void leave_pg_clock(PgConnection& connection) {
    static const std::string move = moved_to_now() + " WHERE now_ms > at_ms";
    connection.run(move.c_str());
}

}  // namespace muster
