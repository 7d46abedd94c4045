// Recently ended matches, and who was let in to which match, for the API: core forgets a match when it ends.
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

    // An account that was let in, and when that became durable; 0 in a live match that it joined in an earlier run.
    struct Joined {
        AccountId account;
        UnixMs at;
    };

    // Whatever is durable, and when: matches that are over are kept, with who was let in.
    void note(const Record& record, UnixMs at = {});

    // By ascending lobby.
    std::vector<Row> all() const;
    // Null when it is not known to be over.
    Row find(LobbyId lobby) const;
    // In the order they came; of a match that is over, or of one that is not.
    std::vector<Joined> joined(LobbyId lobby) const;
    // The match that the account was let in to last, while it is not over; 0: none.
    LobbyId lobby_of(AccountId account) const;

private:
    void over(const MatchRecord& record);
    void use(const TokenUsed& used, UnixMs at);
    void release(const TokenReleased& released);
    void no_longer_in(LobbyId lobby, AccountId account);
    void everybody_left(LobbyId lobby);

    mutable std::mutex mutex_;
    std::map<LobbyId, Row> rows_;  // guarded by mutex_, as is all that follows
    std::deque<LobbyId> order_;    // oldest end first
    std::unordered_map<LobbyId, std::vector<Joined>> joined_;
    std::unordered_map<AccountId, LobbyId> lobby_of_;
};

}  // namespace muster
