// For tests: records to write, and a recovered state as text that can be compared and read.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "core/records.h"

namespace muster {

// When the store's tests play.
inline constexpr UnixMs sample_now{1'700'000'000'000};
inline constexpr UnixMs sample_week_ago{sample_now.value - 7LL * 24 * 3600 * 1000};

ServerRecord sample_server(std::int32_t id);
// With a token while it is not over, and the times that its state implies.
MatchRecord sample_match(std::int32_t lobby, MatchState state, UnixMs now);
EventRecord sample_event(std::int64_t id, UnixMs time);

// Any record about few servers, lobbies, accounts and names, so that they often meet.
Record random_record(Random& random, UnixMs now);
RecordBatch random_batch(Random& random, std::uint64_t number, UnixMs now);

// One line per entry, every field of it.
std::string as_text(const RecoveredState& state);

}  // namespace muster
