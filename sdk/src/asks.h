// What a matchmaker asked of Muster and has no answer to yet, in the order it was asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "muster/ids.h"
#include "muster/matchmaker.h"
#include "muster/outcome.h"
#include "muster/time.h"

namespace muster::sdk {

struct Ask {
    enum class Kind : std::uint8_t { request, cancel, players };

    Kind kind = Kind::request;
    LobbyId lobby{};
    MatchRequest match{};                                // of a request
    std::function<void(const Allocation&)> allocated{};  // of a request
    std::vector<AccountId> accounts{};                   // of a list of players
    std::function<void(const Outcome&)> listed{};        // of a list of players
    std::optional<Time> answer_by{};                     // a cancel waits for as long as it takes
    bool ever_sent = false;
};

class Asks {
public:
    Ask& add(Ask ask);
    std::size_t size() const { return asks_.size(); }
    std::size_t count(Ask::Kind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
    bool contains(Ask::Kind kind, LobbyId lobby) const { return by_lobby_.contains({kind, lobby}); }

    // The first of that kind and lobby is answered or withdrawn.
    std::optional<Ask> take(Ask::Kind kind, LobbyId lobby);
    std::vector<Ask> take_expired(Time now);
    std::vector<Ask> take_all();
    std::optional<Time> next_expiry() const;
    // All have that much more time.
    void postpone(Duration by);

    void for_each(auto&& visit) {
        for (auto& [serial, ask] : asks_) visit(ask);
    }

private:
    using Serial = std::uint64_t;

    Ask remove(Serial serial);

    Serial next_ = 0;
    std::map<Serial, Ask> asks_;
    std::map<std::pair<Ask::Kind, LobbyId>, std::deque<Serial>> by_lobby_;
    std::set<std::pair<Time, Serial>> by_expiry_;
    std::size_t counts_[3] = {};
};

}  // namespace muster::sdk
