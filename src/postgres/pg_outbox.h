// What the players of a cell are to hear of other cells' matches, as rows that both write and take (N-8).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/cell_news.h"
#include "core/records.h"
#include "postgres/pg_connection.h"

namespace muster {

// The number of the last notice of each cell that was taken.
using NoticesTaken = std::map<std::string, std::int64_t>;

// All of these throw PgError.
void prepare_outbox(PgConnection& connection);
// In a batch of the cell that has the match: one row for each other cell with players.
void send_to_outbox(PgConnection& connection, const std::string& cell, const PlayerNotice& notice);
// In a batch of the cell that has told it: drops what is void by that.
void send_told(PgConnection& connection, const std::string& cell, const NoticeTold& told);

// What is new for the cell since, at most notices_max of it. Rows that core cannot have written are left out.
inline constexpr int notices_max = 1'000;
std::vector<CellNews::Notice> read_outbox(PgConnection& connection, const std::string& cell, const NoticesTaken& taken);

}  // namespace muster
