// Everybody who is logged in: sessions, their keepalive, their idling, their end.
//
//   state      what happens                                  then
//   ---------  --------------------------------------------  ------------------------------------------------
//   (none)     login                                         connected: player id, resume token, an entity
//   connected  link lost                                     grace: everything is kept
//   grace      login with the resume token                   connected: the same player, entity and counts
//   grace      its end                                       (none): "Connection lost"
//   connected  login with the resume token, elsewhere        connected there; the old link is told
//   either     login under the same name without it          (none): "Logged in elsewhere"; a new session
//   connected  no echo for 60 s, 30 min without activity,    (none), after the reason was said
//              kick, failed heartbeats, a broken protocol
//   either     logout                                        (none)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/entropy.h"
#include "base/ids.h"
#include "base/issued_time.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "core/entities.h"
#include "core/heartbeats.h"
#include "core/link_table.h"
#include "core/player_figures.h"
#include "core/sessions.h"
#include "protocol/error_texts.h"
#include "runtime/events.h"
#include "runtime/timer_wheel.h"
#include "runtime/timers.h"

namespace muster {

struct PlayersConfig {
    Duration ping_interval = std::chrono::seconds(30);
    Duration ping_timeout = std::chrono::seconds(60);
    Duration idle_after = std::chrono::minutes(5);
    Duration idle_kick_after = std::chrono::minutes(30);
    Duration resume_grace = std::chrono::seconds(30);
    std::int32_t logins_per_minute = 30;  // of one account
    HeartbeatsConfig heartbeats;
};

// One session as an operator sees it (P-8). The name is borrowed.
struct PlayerView {
    AccountId player;
    std::string_view name;
    bool connected = false;
    bool idle = false;
    std::uint32_t latency_us = 0;  // smoothed
    std::uint32_t last_rtt_us = 0;
    std::uint32_t jitter_us = 0;
    UnixMs connected_at;
    Duration since_message{0};
    std::optional<Duration> since_ping_sent;  // none before the first
    Duration since_echo{0};
    std::uint64_t entity = 0;
    int failed_heartbeats = 0;
};

// Game thread only.
class Players {
public:
    using Place = Sessions::Place;

    // All of them outlive the players.
    struct Parts {
        const LoopTime& time;
        Timers& timers;
        Events& events;
        Log& log;
        LinkTable& links;
        IssuedTime& issued;
        Entropy& entropy;
    };

    // Sessions whose deadline came are worked off in bounded steps (L-4).
    static constexpr std::size_t due_per_pass_max = 10'000;

    Players(const PlayersConfig& config, const Parts& parts);

    // Takes effect from each session's next deadline on.
    void configure(const PlayersConfig& config);

    // The credential was good. Makes the link the player's.
    struct Welcome {
        Place place = Sessions::none;
        bool resumed = false;
    };
    Welcome login(const Pass& pass, Link& link, std::string_view name, AccountId player, std::string_view resume_token);
    void login_refused(Refusal why) { ++figures_.refusals[label(why)]; }
    // What the client shows to take the session back, once.
    std::string resume_token(Place place) const;

    // The session that the link speaks for; none when it has ended.
    Place of(const Link& link) const;

    // What a link's frames mean for its session.
    void heard(const Pass& pass, Place place);
    void active(const Pass& pass, Place place);
    void echo(const Pass& pass, Place place, Time received);
    void heartbeat_answered(Place place, const EntityHeartbeatAnswer& answer);
    void logout(const Pass& pass, Place place);

    void link_lost(const Pass& pass, const Link& link);
    // Its link was closed with a last word already: the session ends with it.
    void link_closed(const Pass& pass, const Link& link, std::string_view reason);
    // Muster did not read the link for so long: that was not the player's silence.
    void unread(Place place, Duration time);

    // False when the player has no session.
    bool kick(const Pass& pass, AccountId player, std::string_view reason);
    // The session of who is blocked from now on, if there is one.
    bool block(const Pass& pass, Place place);
    void shut_down(const Pass& pass);
    // For a program that embeds the library. False when the player has no entity (H-1).
    bool set_authority(AccountId player, bool here);

    // Once in a pass, after messages and timers. Returns how much it found to do.
    std::size_t update(const Pass& pass);

    const PlayerFigures& figures() const { return figures_; }
    const Sessions& sessions() const { return sessions_; }
    const Entities& entities() const { return entities_; }
    PlayerView view(Place place) const;
    std::optional<PlayerView> find(AccountId player) const;
    // Calls visit(view) for the sessions in `count` places from `first` on; returns the place to go on from, or none.
    template <class Visit>
    Place visit_from(Place first, std::size_t count, Visit visit) const {
        for (; count > 0 && first < sessions_.places(); ++first, --count) {
            if (sessions_.at(first).taken) visit(view(first));
        }
        return first < sessions_.places() ? first : Sessions::none;
    }

private:
    Place open(const Pass& pass, std::string_view name, AccountId player);
    void connect(const Pass& pass, Place place, Link& link);
    void take_from_old_link(Place place);
    void new_resume_token(Place place);
    bool is_resume_token(Place place, std::string_view token) const;
    void deadline_came(const Pass& pass, Place place);
    void ping(const Pass& pass, Place place);
    Time next_deadline(Time running, const Session& session) const;
    void end(const Pass& pass, Place place, std::string_view reason, std::string_view label);
    void close(const Pass& pass, Place place, Reason reason);
    Time next_ping(Time from);
    void wake_for(Time running, std::optional<Time> deadline);

    PlayersConfig config_;
    const LoopTime& time_;
    Timers& timers_;
    Events& events_;
    Log& log_;
    LinkTable& links_;
    IssuedTime& issued_;
    Entropy& entropy_;
    Random random_;
    Sessions sessions_;
    TimerWheel wheel_;  // one timer a session, in running time
    Entities entities_;
    Heartbeats heartbeats_;
    TimerId wake_;  // brings a pass for the next deadline
    std::optional<Time> wake_at_;
    PlayerFigures figures_;
};

}  // namespace muster
