// The blocks that are durable, for whoever lists them.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/records.h"

namespace muster {

// Any thread. The store's thread notes the records that have become durable.
class BlockBook {
public:
    // These are all.
    void begin_with(const std::vector<BlockRecord>& recovered);
    void note(const Record& record);

    // Those that have not ended, by kind and value.
    std::vector<BlockRecord> all(UnixMs now) const;

private:
    mutable std::mutex mutex_;
    std::map<std::pair<BlockKind, std::string>, BlockRecord> blocks_;  // guarded by mutex_
};

}  // namespace muster
