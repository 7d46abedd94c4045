// A player of the simulated world: logs in, echoes, acts or idles, loses its link and comes back, and follows the
// world's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/random.h"
#include "protocol/messages.h"
#include "sim/followed_clock.h"
#include "sim/network.h"
#include "sim/stage.h"

namespace muster::sim {

// One thread. The stage outlives it.
class PlayerActor final : public Peer {
public:
    PlayerActor(Stage& stage, Random random, std::string name);

    // Logs in after `delay`, and from then on by itself whenever it has no link.
    void start(Duration delay);
    // Does everything right from now on.
    void calm_down();

    bool logged_in() const { return logged_in_; }
    // When it was last refused for too many logins: for a minute it may be refused again (S-7).
    std::optional<Time> limited_at() const { return limited_at_; }
    AccountId id() const { return id_; }
    // What its clock shows.
    const FollowedClock& clock() const { return clock_; }
    // The longest that it waited for a MSG_PING, from its login's leaving or from the ping before.
    Duration longest_wait_for_ping() const { return longest_wait_; }

    void frame(LinkNumber link, Code code, std::span<const std::byte> payload) override;
    void link_down(LinkNumber link) override;

private:
    struct FromMuster;

    void connect();
    void log_in(const std::string& token);
    std::string token_to_show();
    void come_back();
    void drop_link(bool silently);
    void welcome(const PlayerLoginResponse::Accepted& accepted);
    void pinged();
    void asked(const EntityHeartbeat& request);
    void act_next();
    void act();
    void do_something();
    void misspeak();
    void answer_later(const EntityHeartbeatAnswer& answer, Duration delay);
    bool chance(double share) { return random_.chance(share); }
    const PlayerHabits& habits() const { return stage_.conditions.player; }
    template <class M>
    void send(const M& message) {
        if (link_ != 0) stage_.send(link_, message);
    }

    Stage& stage_;
    Random random_;
    std::string name_;
    LinkNumber link_ = 0;
    bool logged_in_ = false;
    std::optional<Time> limited_at_;
    std::uint32_t session_ = 0;  // logins so far: what was planned for an earlier one is dropped
    AccountId id_;
    std::string token_;      // the newest it was told
    std::string old_token_;  // the one before
    FollowedClock clock_;
    Time last_ping_{};
    Duration longest_wait_{0};
    Time idle_until_{};
    Time deaf_until_{};   // echoes no ping
    Time dazed_until_{};  // answers no heartbeat
    Time return_at_{};
};

}  // namespace muster::sim
