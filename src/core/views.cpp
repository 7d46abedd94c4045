#include "core/views.h"

namespace muster {

MatchRow match_row_of(const MatchRecord& record, std::int32_t tokens_used) {
    MatchRow row;
    row.lobby = record.lobby;
    row.server = record.server;
    row.region = record.region;
    row.state = record.state;
    row.game_type = record.game_type;
    row.game_mode = record.game_mode;
    row.player_count = record.player_count;
    row.average_rating = record.average_rating;
    row.tokens_used = tokens_used;
    row.matchmaker = record.matchmaker;
    row.reason = record.reason;
    row.requested_at = record.requested_at;
    row.allocated_at = record.allocated_at;
    row.ready_at = record.ready_at;
    row.started_at = record.started_at;
    row.ended_at = record.ended_at;
    return row;
}

}  // namespace muster
