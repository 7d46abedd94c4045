// Recently ended matches, for the API: core forgets a match when it ends.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "core/views.h"

namespace muster {

// Any thread. The store's thread notes the records that have become durable, each once, and never waits long for a
// reader: a reader copies pointers, not rows.
class OverMatches {
public:
    static constexpr std::size_t capacity = 2'000;

    using Row = std::shared_ptr<const MatchRow>;

    // Whatever is durable: matches that are over are kept, and uses of tokens are counted until then.
    void note(const Record& record);

    // By ascending lobby.
    std::vector<Row> all() const;
    // Null when it is not known to be over.
    Row find(LobbyId lobby) const;

private:
    void over(const MatchRecord& record);
    void use(const TokenUsed& used);
    void release(const TokenReleased& released);

    mutable std::mutex mutex_;
    std::map<LobbyId, Row> rows_;  // guarded by mutex_, as is all that follows
    std::deque<LobbyId> order_;    // oldest end first
    std::unordered_map<LobbyId, std::vector<AccountId>> tokens_used_;
};

}  // namespace muster
