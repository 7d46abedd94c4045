// Entity heartbeats: whoever stops answering loses its entity (H-1 … H-5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/entities.h"
#include "core/sessions.h"
#include "protocol/player_messages.h"
#include "runtime/pass.h"

namespace muster {

struct HeartbeatsConfig {
    bool enabled = false;
    Duration interval = std::chrono::seconds(5);
    int failures_max = 2;  // more in a row than this, and the entity is deleted
};

// What one run() found; its owner does it.
struct HeartbeatRound {
    struct Request {
        std::uint32_t session;
        EntityHeartbeat message;
    };
    std::vector<Request> requests;  // to be sent
    std::vector<EntityId> failed;   // too often: to be deleted, and their sessions closed
    std::size_t done = 0;           // how much there was to do
};

// Game thread only. Entities and sessions outlive it.
class Heartbeats {
public:
    // Entities whose interval ends are worked off in bounded steps.
    static constexpr std::size_t per_pass_max = 10'000;

    Heartbeats(const HeartbeatsConfig& config, Entities& entities, const Sessions& sessions)
        : config_(config), entities_(entities), sessions_(sessions) {}

    // Takes effect for the judgements from now on.
    void set_failures_max(int failures) { config_.failures_max = failures; }

    // The entity is new in this pass.
    void created(EntityId entity) { newborn_.push_back(entity); }
    // What a client said; judged at the end of the pass.
    void answered(EntityId entity, const EntityHeartbeatAnswer& answer) { answers_.push_back({entity, answer}); }
    // Its link is lost: the request under way is not judged.
    void link_lost(EntityId entity);
    // A program that embeds the library lets go of an entity, or takes it back. Letting go forgets the count.
    void set_authority(EntityId entity, bool here);

    // The systems, one after the other, once in a pass. What it returns is good until the next run.
    const HeartbeatRound& run(const Pass& pass);
    // When run() is wanted next, in running time.
    std::optional<Time> next_due() const;

private:
    struct Answer {
        EntityId entity;
        EntityHeartbeatAnswer answer;
    };
    struct Due {
        std::uint32_t entity;   // its place
        std::uint32_t request;  // the latest then: another by now means that this entry is void
    };
    // Those whose interval ends in the same millisecond.
    struct Wave {
        Time at;  // in running time
        std::size_t size = 0;
    };

    void ask_at(Time at, EntityId entity, std::uint32_t request);

    // Gives entities that have none their heartbeat data.
    void initialise(const Pass& pass);
    // Asks those whose interval is over once more.
    void make_requests(const Pass& pass);
    // Notes which entities answered with success, however often.
    void take_answers();
    // Counts the intervals that ended, and gives up on those that failed too often.
    void judge();

    HeartbeatsConfig config_;
    Entities& entities_;
    const Sessions& sessions_;
    HeartbeatRound round_;
    std::vector<EntityId> newborn_;
    std::vector<Answer> answers_;
    std::vector<EntityId> ended_;  // their interval ended in this pass
    // One interval for all: the order of asking is the order of being due.
    std::deque<Due> due_;
    std::deque<Wave> waves_;  // how many of them are due when; together all
};

}  // namespace muster
