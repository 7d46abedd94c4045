// The matchmakers that ask for matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "base/time.h"
#include "core/region.h"
#include "protocol/error_texts.h"
#include "protocol/matchmaker_messages.h"
#include "runtime/pass.h"
#include "runtime/timers.h"

namespace muster {

struct MatchmakersConfig {
    Regions regions;
    Duration heartbeat_interval = std::chrono::seconds(30);
    Duration heartbeat_timeout = std::chrono::seconds(90);
};

// Who asks for matches over HTTP: each operator by name, "@alice"; who has none, and who holds the config's token for
// matchmakers, is "@http". No peer can name itself so: the letters of a matchmaker's id do not allow it.
std::string http_matchmaker_id(std::string_view operator_name);
inline bool is_http_matchmaker(std::string_view id) {
    return id.starts_with('@');
}

struct Matchmaker {
    std::string id;
    MatchmakerNumber number;  // what its link remembers it by
    ConnectionId link;        // no generation: away
    std::vector<RegionId> regions;
    Time last_seen;                    // running time, as is the next
    std::optional<Time> unread_since;  // while Muster does not read its link
    TimerId silence;

    bool connected() const { return link.generation != 0; }
    // Until when we would have heard it: its silence is judged by this, not by `running`.
    Time heard_until(Time running) const { return unread_since.value_or(running); }
    bool serves(RegionId region) const;
};

// Game thread only. A matchmaker is remembered by its id while it has a link; what is kept for one that is away is
// the matches' business.
class Matchmakers {
public:
    Matchmakers(MatchmakersConfig config, Timers& timers);

    // Holds for those that are there, too. The regions stay as they are.
    void configure(MatchmakersConfig config);

    // Links of those that were silent for too long since the last call, to be closed.
    std::vector<ConnectionId> take_silent() { return std::exchange(silent_, {}); }
    bool has_silent() const { return !silent_.empty(); }

    struct Greeting {
        MatchmakerNumber number;
        ConnectionId replaced;  // a silent link that the newcomer took over from, to be closed
    };

    // A-1, the token judged before. A failure changes nothing.
    Result<Greeting, Refusal> handshake(const Pass& pass, ConnectionId from, const MatchmakerHandshake& hello);
    // Any message is a sign of life.
    void heard(const Pass& pass, MatchmakerNumber number);
    void link_lost(MatchmakerNumber number, ConnectionId link);
    // Muster does not read the link from now on, and reads it again.
    void paused(const Pass& pass, MatchmakerNumber number);
    void resumed(const Pass& pass, MatchmakerNumber number);

    // Null when there is none.
    const Matchmaker* find(MatchmakerNumber number) const;
    const Matchmaker* find(std::string_view id) const;
    std::size_t size() const { return by_number_.size(); }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& [number, matchmaker] : by_number_) visit(matchmaker);
    }

private:
    void silence_due(const Pass& pass, MatchmakerNumber number);
    void forget(MatchmakerNumber number);

    MatchmakersConfig config_;
    Timers& timers_;
    std::map<MatchmakerNumber, Matchmaker> by_number_;
    boost::unordered_flat_map<std::string, MatchmakerNumber, TextHash, std::equal_to<>> by_id_;
    std::int32_t next_number_ = 1;
    std::vector<ConnectionId> silent_;
};

}  // namespace muster
