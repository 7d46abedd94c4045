// A worker's slots: which are in use, by which generation, and which one the next connection gets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/planted.h"
#include "protocol/port.h"

namespace muster {

// The top eight bits of a slot are the worker's number, so that anyone can tell whose connection an id names. A slot is
// used again with another generation, and only by its own port: the end of one connection and the beginning of the next
// in its slot go through the same inbox, in this order. Numbers only, no connections: the simulator's network gives
// them out by this very class. One thread.
class ConnectionSlots {
public:
    static constexpr std::uint32_t worker_bits = 8;
    static constexpr std::uint32_t index_bits = 32 - worker_bits;
    static constexpr std::size_t workers_max = std::size_t{1} << worker_bits;
    static constexpr std::size_t block_size = 256;  // slots are made by so many

    static constexpr std::size_t worker_of(ConnectionId id) { return id.slot >> index_bits; }
    static constexpr std::uint32_t index_of(ConnectionId id) { return id.slot & ((1u << index_bits) - 1); }

    explicit ConnectionSlots(std::size_t worker) : first_slot_(static_cast<std::uint32_t>(worker) << index_bits) {
        MUSTER_CHECK(worker < workers_max, "a worker's number has eight bits");
    }

    // What the next connection of the port is called. Throws std::bad_alloc, and then nothing has changed.
    ConnectionId next(Port port) {
        if (free_of(port).empty()) add_block(port);
        const std::uint32_t index = free_of(port).back();
        return {first_slot_ | index, generations_[index] + 1};
    }
    // The connection of that name lives from now on.
    void take(ConnectionId id, Port port) {
        MUSTER_CHECK(!free_of(port).empty() && free_of(port).back() == index_of(id), "the slot taken is the next one");
        generations_[index_of(id)] = id.generation;
        free_of(port).pop_back();
    }
    // It is gone. Takes no memory.
    void release(ConnectionId id, Port port) {
        MUSTER_CHECK(is_live(id), "a connection is removed once");
        ++generations_[index_of(id)];
        free_of(port).push_back(index_of(id));
    }

    bool is_live(ConnectionId id) const {
        const std::uint32_t index = id.slot - first_slot_;
        return index < generations_.size() && generations_[index] == id.generation && is_used(id.generation);
    }

    // Slots there are, used or not: indices below it.
    std::size_t count() const { return generations_.size(); }
    bool is_live(std::uint32_t index) const { return is_used(generations_[index]); }

private:
    static constexpr bool is_used(std::uint32_t generation) { return generation % 2 == 1; }

    std::vector<std::uint32_t>& free_of(Port port) {
        return free_[planted(Bug::slot_reuse_aborts) ? 0 : static_cast<std::size_t>(port)];
    }

    // Makes room in the port's list for every slot, so that releasing takes no memory.
    void add_block(Port port) {
        auto& free = free_of(port);
        const std::size_t first = generations_.size();
        MUSTER_CHECK(first + block_size <= std::size_t{1} << index_bits,
                     "limits keep the connections under 16 million");
        free.reserve(first + block_size);
        generations_.resize(first + block_size);
        for (std::size_t i = block_size; i-- > 0;) free.push_back(static_cast<std::uint32_t>(first + i));
    }

    const std::uint32_t first_slot_;
    std::vector<std::uint32_t> generations_;                     // odd while a connection lives in the slot
    std::array<std::vector<std::uint32_t>, ports.size()> free_;  // by port
};

}  // namespace muster
