// The entities of the world, by components: owner, heartbeat authority, heartbeat data (H-1).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace muster {

// A place in the table and which user of it. Never used twice.
struct EntityId {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  // 0 names none
    friend constexpr auto operator<=>(const EntityId&, const EntityId&) = default;
    // One number, for people and programs outside.
    std::uint64_t number() const { return std::uint64_t{generation} << 32 | index; }
};

struct HeartbeatData {
    std::uint32_t request = 0;   // the latest
    std::uint16_t failures = 0;  // in a row
    bool has : 1 = false;        // the entity has this component
    bool asked : 1 = false;      // `request` was sent and will be judged
    bool answered : 1 = false;   // with success
    bool closing : 1 = false;    // the interval of the request before `request` ended in this pass
};

// Game thread only. Components stand in arrays of their own: a system touches only what it works on.
class Entities {
public:
    EntityId create(std::uint32_t session) {
        std::uint32_t index = 0;
        if (free_.empty()) {
            index = static_cast<std::uint32_t>(generation_.size());
            generation_.push_back(0);
            session_.push_back(0);
            authority_.push_back(false);
        } else {
            index = free_.back();
            free_.pop_back();
        }
        ++generation_[index];  // odd: alive
        session_[index] = session;
        authority_[index] = true;
        // The number goes on: what is still under way for the place's last user fits nothing any more.
        if (index < heartbeat_.size()) heartbeat_[index] = HeartbeatData{.request = heartbeat_[index].request + 1};
        ++size_;
        return {index, generation_[index]};
    }

    // False when it is gone already.
    bool remove(EntityId id) {
        if (!contains(id)) return false;
        ++generation_[id.index];
        free_.push_back(id.index);
        --size_;
        return true;
    }

    bool contains(EntityId id) const {
        return id.generation != 0 && id.index < generation_.size() && generation_[id.index] == id.generation;
    }
    // Who uses the place now; none when nobody does.
    EntityId at(std::uint32_t index) const {
        const bool alive = index < generation_.size() && generation_[index] % 2 == 1;
        return alive ? EntityId{index, generation_[index]} : EntityId{};
    }
    std::size_t size() const { return size_; }

    // Of an entity that is there.
    std::uint32_t session(EntityId id) const { return session_[checked(id)]; }
    bool has_authority(EntityId id) const { return authority_[checked(id)]; }
    void set_authority(EntityId id, bool here) { authority_[checked(id)] = here; }
    // Where heartbeats are off nobody asks for this, and there is no such array.
    HeartbeatData& heartbeat(EntityId id) {
        if (checked(id) >= heartbeat_.size()) heartbeat_.resize(generation_.size());
        return heartbeat_[id.index];
    }
    HeartbeatData heartbeat(EntityId id) const {
        return checked(id) < heartbeat_.size() ? heartbeat_[id.index] : HeartbeatData{};
    }

private:
    std::uint32_t checked(EntityId id) const {
        MUSTER_CHECK(contains(id), "the entity is there");
        return id.index;
    }

    std::vector<std::uint32_t> generation_;
    std::vector<std::uint32_t> session_;
    std::vector<bool> authority_;
    std::vector<HeartbeatData> heartbeat_;
    std::vector<std::uint32_t> free_;
    std::size_t size_ = 0;
};

}  // namespace muster
