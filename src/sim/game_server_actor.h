// A game server of the simulated world, honest or not. It speaks the wire by itself, so that it can also misspeak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "base/random.h"
#include "protocol/messages.h"
#include "sim/network.h"
#include "sim/stage.h"

namespace muster::sim {

struct GameServerTraits {
    IpAddress ip;
    std::uint16_t port = 7777;
    RegionId region;
    std::int32_t max_matches = 1;
    bool seeds_only = false;  // heartbeats and acknowledges, and never speaks of its matches
};

// One thread. The stage outlives it.
class GameServerActor final : public Peer {
public:
    GameServerActor(Stage& stage, Random random, const GameServerTraits& traits);

    // Connects after `delay`, and from then on by itself whenever it has no link.
    void start(Duration delay);

    // What befalls it.
    void reboot();           // loses its link and its matches, and is back within thirty seconds
    void leave();            // GOODBYE, and back later
    void go_away(Duration);  // falls off the net for that long, and keeps its matches
    void move(RegionId);     // comes back in another region
    void hang_up();          // forgets its link without a word, and connects anew
    void misspeak();         // sends what is no message
    void calm_down();        // the faults are over

    bool registered() const { return id_.value != 0; }
    ServerId id() const { return id_; }
    LinkNumber link() const { return link_; }
    // Those it believes to run.
    std::size_t matches() const { return running_.size(); }
    const GameServerTraits& traits() const { return traits_; }

    void frame(LinkNumber link, Code code, std::span<const std::byte> payload) override;
    void link_down(LinkNumber link) override;

private:
    enum class Phase : std::uint8_t { accepted, ready, started, ending };
    struct Running {
        std::string token;
        Phase phase = Phase::accepted;
        std::int32_t validated = 0;
        std::uint32_t serial = 0;
        bool acknowledged = false;
    };
    // READY, STARTED and ENDED on this link that have no answer yet: the answers come in order, and only so can it be
    // known which match of a lobby they are about.
    struct Report {
        LobbyId lobby;
        std::uint32_t serial = 0;
        bool ended = false;
    };
    struct FromMuster;

    void connect();
    void connect_later(Duration most);
    void drop_link();
    void greeted(ServerId id);
    void beat();
    void send_beat();
    void offered(const AllocateMatch& offer);
    void acknowledge(LobbyId lobby, bool accepted, std::uint32_t session);
    void take(LobbyId lobby, const std::string& token, Duration acknowledged_in);
    void play(LobbyId lobby, std::uint32_t serial);
    Duration play_on(LobbyId lobby, Running& match);
    void validate(LobbyId lobby, Running& match);
    template <class M>
    void report(const M& message, bool ended = false);
    Report answered_report(LobbyId lobby);
    void refused(const Report& report, std::string_view error);
    void reported(const Report& report);
    bool chance(double share) { return random_.chance(share); }
    const ServerHabits& habits() const { return stage_.conditions.server; }
    template <class M>
    void send(const M& message) {
        if (link_ != 0) stage_.send(link_, message);
    }

    Stage& stage_;
    Random random_;
    GameServerTraits traits_;
    const IpText ip_;
    LinkNumber link_ = 0;
    ServerId id_;                    // while registered
    std::uint32_t session_ = 0;      // grows with each link
    std::uint32_t next_serial_ = 1;  // of matches it ran
    int failed_connects_ = 0;
    Time last_ack_{};
    Time away_until_{};
    std::map<LobbyId, Running> running_;
    std::deque<Report> reports_;
};

}  // namespace muster::sim
