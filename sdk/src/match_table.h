// The offers and matches that a game server holds, and what it said of them that Muster has not answered yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "muster/ids.h"
#include "muster/time.h"

namespace muster::sdk {

struct HeldMatch {
    enum class Stage : std::uint8_t { offered, accepted, ready, started };

    std::string token{};
    Time answer_by{};  // of an offer
    Stage stage = Stage::offered;
    bool told = false;  // Muster has answered that the match is ready, or started
};

class MatchTable {
public:
    using Stage = HeldMatch::Stage;

    HeldMatch* find(LobbyId lobby);
    const HeldMatch* find(LobbyId lobby) const;
    // Whatever was said of an earlier match of that lobby is void.
    void offer(LobbyId lobby, std::string token, Time answer_by);
    void accept(LobbyId lobby);
    void erase(LobbyId lobby);
    // Nothing is held any more; what was said of it is still to be answered. Returns the offers.
    std::vector<LobbyId> give_up();
    void clear();

    // Offers included, and without them.
    std::size_t size() const { return matches_.size(); }
    std::int32_t match_count() const { return static_cast<std::int32_t>(matches_.size() - offers_); }

    // The match is over; it stays here as ended until Muster has answered that.
    void end(LobbyId lobby);
    void end_told(LobbyId lobby) { ended_.erase(lobby); }

    // STARTED and ENDED share one answer, which comes in the order of the reports of a lobby.
    enum class Report : std::uint8_t { started, ended };
    void sent(Report report, LobbyId lobby) { in_flight_.push_back({report, lobby}); }
    std::optional<Report> answered(LobbyId lobby);

    // No answer comes over a lost link. Whether Muster still knows of the matches that wait for players is to be asked
    // again. Returns the offers, which are void and gone from here.
    std::vector<LobbyId> link_lost();

    std::vector<LobbyId> offers_expired(Time now) const;
    std::optional<Time> next_expiry() const;

    // By ascending lobby.
    const std::map<LobbyId, HeldMatch>& matches() const { return matches_; }
    const std::set<LobbyId>& ended() const { return ended_; }

private:
    struct InFlight {
        Report report;
        LobbyId lobby;
    };

    std::vector<LobbyId> offers() const;

    std::map<LobbyId, HeldMatch> matches_;
    std::size_t offers_ = 0;  // of them
    std::set<LobbyId> ended_;
    std::deque<InFlight> in_flight_;
};

}  // namespace muster::sdk
