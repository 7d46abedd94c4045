// Removes old events from the store's table of blocks: whole blocks, and of the one where the past ends, its beginning.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/records.h"
#include "store/database.h"
#include "store/kept_past.h"

namespace muster {

// One thread, inside a transaction of the caller. The database outlives it; every call may fail with SqliteError.
class EventPast {
public:
    explicit EventPast(Database& database);

    struct Removed {
        std::int64_t events = 0;
        UnixMs latest{};    // the latest time of one that went
        bool more = false;  // it stopped at its limit
    };
    // Those before `kept.since`, about `events_max` at most. Blocks are in the order of their ids, and so are their
    // times, but for those of a date that was far ahead for a while: these are passed over (fault 18).
    Removed remove_before(const KeptPast& kept, std::int64_t events_max);
    // The oldest `events`.
    Removed remove_oldest(std::int64_t events);

    // The date of the newest event as far as it had lasted (LastedDate); nothing without events.
    std::optional<UnixMs> latest_date();

private:
    struct Block {
        std::int64_t first_id = 0;
        UnixMs first_time;
        UnixMs last_time;
        std::int64_t count = 0;
    };
    std::optional<Block> block_after(std::int64_t first_id);
    std::optional<Block> block_before(std::int64_t first_id);
    static std::optional<Block> block_of(Statement& query);
    void remove(const Block& block);
    // Removes from the block what `is_past(event, place)` says; returns how many.
    std::int64_t trim(const Block& block, const std::function<bool(const EventRecord&, std::int64_t)>& is_past);
    std::vector<EventRecord> events_of(const Block& block);

    Statement next_;
    Statement previous_;
    Statement read_;
    Statement drop_;
    Statement put_;
};

}  // namespace muster
