// A matchmaker of the simulated world: asks for matches, asks again, cancels, vanishes and comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "protocol/messages.h"
#include "sim/network.h"
#include "sim/stage.h"

namespace muster::sim {

// One thread. The stage outlives it.
class MatchmakerActor final : public Peer {
public:
    MatchmakerActor(Stage& stage, Random random, std::string id, std::vector<RegionId> regions);

    // Connects after `delay`, and from then on by itself whenever it has no link; asks as often as the stage says.
    void start(Duration delay);

    // What befalls it.
    void go_away(Duration by, bool silently);
    void misspeak();
    void calm_down();
    // Asks for so many lobbies at once.
    void burst(int requests);
    // A request that must succeed within ten seconds, as nothing goes wrong any more.
    void probe(RegionId region);

    bool registered() const { return registered_; }
    LinkNumber link() const { return link_; }
    // Probes that were answered with a server in time.
    std::size_t probes_answered() const { return probes_answered_; }
    std::size_t probes() const { return probes_.size(); }
    const std::string& last_probe_error() const { return last_probe_error_; }

    void frame(LinkNumber link, Code code, std::span<const std::byte> payload) override;
    void link_down(LinkNumber link) override;

private:
    enum class State : std::uint8_t { asked, allocated };
    struct Ask {
        AllocationRequest request;
        State state = State::asked;
        int tries = 1;
        std::uint32_t serial = 0;  // of the latest asking
    };
    struct FromMuster;

    void connect();
    void connect_later();
    void drop_link(bool silently);
    void greeted();
    void beat();
    void ask_next();
    void ask_new();
    AllocationRequest odd_request();
    void ask(LobbyId lobby);
    void patience_over(LobbyId lobby, std::uint32_t serial);
    void name_players(LobbyId lobby);
    void answered(const AllocationResponse& answer);
    void told(const MatchEventNotice& notice);
    bool chance(double share) { return random_.chance(share); }
    const MatchmakerHabits& habits() const { return stage_.conditions.matchmaker; }
    template <class M>
    void send(const M& message) {
        if (link_ != 0) stage_.send(link_, message);
    }

    Stage& stage_;
    Random random_;
    std::string id_;
    std::vector<RegionId> regions_;
    LinkNumber link_ = 0;
    bool registered_ = false;
    std::uint32_t session_ = 0;
    int failed_connects_ = 0;
    Time last_heard_{};
    Time away_until_{};
    std::map<LobbyId, Ask> asks_;
    std::map<LobbyId, Time> probes_;
    std::size_t probes_answered_ = 0;
    std::string last_probe_error_;
};

}  // namespace muster::sim
