// Entity heartbeats: whoever stops answering loses its entity (H-1 … H-5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/entities.h"
#include "protocol/player_messages.h"
#include "runtime/pass.h"

namespace muster {

struct HeartbeatsConfig {
    bool enabled = false;
    Duration interval = std::chrono::seconds(5);
    int failures_max = 2;  // more in a row than this, and the entity is deleted
};

// What the heartbeats need of the world around them.
class HeartbeatHost {
public:
    // False while the session is in its resume grace.
    virtual bool reachable(std::uint32_t session) const = 0;
    virtual void send(std::uint32_t session, const EntityHeartbeat& request) = 0;
    // The entity failed too often: it is to be deleted, and its session closed.
    virtual void heartbeat_failed(const Pass& pass, EntityId entity) = 0;

protected:
    ~HeartbeatHost() = default;
};

// Game thread only. Entities and host outlive it.
class Heartbeats {
public:
    // Entities whose interval ends are worked off in bounded steps.
    static constexpr std::size_t per_pass_max = 10'000;

    Heartbeats(const HeartbeatsConfig& config, Entities& entities, HeartbeatHost& host)
        : config_(config), entities_(entities), host_(host) {}

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

    // The systems, one after the other, once in a pass. Returns how much they found to do.
    std::size_t run(const Pass& pass);
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
    void send_requests(const Pass& pass);
    // Notes which entities answered with success, however often.
    void take_answers();
    // Counts the intervals that ended, and gives up on those that failed too often.
    void judge(const Pass& pass);

    HeartbeatsConfig config_;
    Entities& entities_;
    HeartbeatHost& host_;
    std::vector<EntityId> newborn_;
    std::vector<Answer> answers_;
    std::vector<EntityId> ended_;  // their interval ended in this pass
    // One interval for all: the order of asking is the order of being due.
    std::deque<Due> due_;
    std::deque<Wave> waves_;  // how many of them are due when; together all
};

}  // namespace muster
