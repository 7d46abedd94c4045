// What a cell hears of the others (N-8): the one clock, operators and blocks, and what its players are to be told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/records.h"

namespace muster {

// Operators and blocks are of the whole cluster.
struct SharedRules {
    std::vector<OperatorRecord> operators{};
    std::vector<BlockRecord> blocks{};
};

struct CellNews {
    struct Clock {
        Time as_of;  // when it showed that
        ClockRecord shown;
    };
    struct Notice {
        std::string from{};       // the cell
        std::int64_t number = 0;  // grows with each of that cell
        PlayerNotice notice{};
    };

    std::optional<Clock> clock{};        // none: this cell leads it, or it was not read
    std::optional<SharedRules> rules{};  // all of them, when they have changed
    std::vector<Notice> notices{};       // in the order of each cell
};

}  // namespace muster
