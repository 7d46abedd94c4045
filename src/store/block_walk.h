// One block of events, told to a search: the same for every engine that keeps blocks.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/event_search.h"

namespace muster {

// What stands beside a block's bytes.
struct BlockRow {
    std::int64_t first_id = 0;
    std::int64_t last_id = 0;
    std::int64_t first_time = 0;
};

// The type of the event that stands for what cannot be read.
inline constexpr std::string_view damage_event = "history.damaged";

// Tells the block's events that the search wants, in its direction. In place of what is damaged one event is told,
// `history.damaged`, with the ids of the first and the last event that are lost.
void tell_block(const BlockRow& row, std::string_view bytes, const EventSearch& search, EventWalk& walk);

}  // namespace muster
