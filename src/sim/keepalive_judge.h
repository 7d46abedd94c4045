// Judges how players are kept and given up: never before their time is over, and never much later; and that what they
// ask for is answered at once.
// Invariant 17; P-2, P-3, P-4; H-2 … H-5.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/events.h"
#include "protocol/dispatch.h"
#include "protocol/messages.h"
#include "sim/id_map.h"
#include "sim/judge.h"
#include "sim/player_judge.h"
#include "sim/rules.h"

namespace muster::sim {

class KeepaliveJudge final : public Judge {
public:
    // `players` hears of each login before this judge does, and outlives it.
    KeepaliveJudge(Objections& objections, const Rules& rules, const PlayerJudge& players)
        : objections_(objections), rules_(rules), players_(players) {}

    using Judge::happened;
    using Judge::heard;
    using Judge::said;

    void heard(const Scene& scene, LinkNumber link, const PingEcho& echo);
    void heard(const Scene& scene, LinkNumber link, const EntityHeartbeatAnswer& answer);
    void heard(const Scene& scene, LinkNumber link, const PingRequest& request);
    void heard(const Scene& scene, LinkNumber link, const PlayerActivity& activity);
    void heard(const Scene& scene, LinkNumber link, const GameMessage& message);
    void heard(const Scene& scene, LinkNumber link, const ClockSync& question);
    void said(const Scene& scene, LinkNumber link, const Ping& ping);
    void said(const Scene& scene, LinkNumber link, const PingReply& reply);
    void said(const Scene& scene, LinkNumber link, const ClockSyncReply& reply);
    void said(const Scene& scene, LinkNumber link, const EntityHeartbeat& request);
    void said(const Scene& scene, LinkNumber link, const ServerClose& last);
    void happened(const Scene& scene, const event::PlayerLogin& event);
    void happened(const Scene& scene, const event::PlayerResumed& event);
    void happened(const Scene& scene, const event::PlayerIdle& event);
    void happened(const Scene& scene, const event::PlayerActive& event);
    void happened(const Scene& scene, const event::PlayerClosed& event);
    void opened(const Scene& scene, LinkNumber link, Port port);
    void closed(const Scene& scene, LinkNumber link);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

    std::uint64_t idles() const { return idles_; }
    std::uint64_t heartbeats() const { return heartbeats_; }

private:
    // A session's signs of life. All times are running time.
    struct Life {
        LinkNumber link = 0;  // 0 in its grace
        Time echoed{};
        Time active{};
        Time pinged{};  // the link's opening before its first ping
        bool idle = false;
        bool owes_active = false;  // it is active again, and everybody must hear it
        int owed_replies = 0;
        std::vector<std::int64_t> owed_syncs;  // the oldest first
        // Heartbeats.
        Time asked_at{};  // or when it came, or came back
        std::uint32_t request = 0;
        bool asked = false;
        bool answered = false;
        int failures = 0;   // in a row
        Time responsive{};  // when it last answered well, came, or came back
    };

    // What a link asked while its login waited for its account; answered when the session begins.
    struct Early {
        int replies = 0;
        std::vector<std::int64_t> syncs;
    };

    Life* on(LinkNumber link);
    void leave_link(Life& life);
    // Something of it changed: it is looked at when the pass ends.
    void touch(Life& life);
    void judge_pass(const Scene& scene, const Life& life);
    // From when on it may be late with something, if nothing more is heard or said of it.
    Time late_from(const Life& life) const;
    void came(const Scene& scene, AccountId player, Life& life);
    void acted(const Scene& scene, LinkNumber link);
    void judge_lateness(const Scene& scene, const Life& life);
    void object(const Scene& scene, std::string rule, std::string what);

    Objections& objections_;
    const Rules rules_;
    const PlayerJudge& players_;
    IdMap<LinkNumber, Time> opened_;
    IdMap<LinkNumber, Early> early_;
    IdMap<AccountId, Life> lives_;
    IdMap<LinkNumber, Life*> by_link_;  // those that have one
    std::vector<Life*> touched_;        // since the last pass ended; may name one twice
    Time none_late_until_{};            // nobody is late with anything before
    std::uint64_t idles_ = 0;
    std::uint64_t heartbeats_ = 0;
};

}  // namespace muster::sim
