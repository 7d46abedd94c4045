// A worker's connections, found by their id.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "net/connection.h"
#include "protocol/port.h"

namespace muster {

// The top eight bits of a slot are the worker's number, so that anyone can tell whose connection an id names. A slot is
// used again with another generation, and only by its own port: the end of one connection and the beginning of the next
// in its slot go through the same inbox, in this order. References stay good until the connection is removed. One
// thread.
class ConnectionTable {
public:
    static constexpr std::uint32_t worker_bits = 8;
    static constexpr std::uint32_t index_bits = 32 - worker_bits;
    static constexpr std::size_t workers_max = std::size_t{1} << worker_bits;

    static constexpr std::size_t worker_of(ConnectionId id) { return id.slot >> index_bits; }
    static constexpr std::uint32_t index_of(ConnectionId id) { return id.slot & ((1u << index_bits) - 1); }

    explicit ConnectionTable(std::size_t worker) : first_slot_(static_cast<std::uint32_t>(worker) << index_bits) {
        MUSTER_CHECK(worker < workers_max, "a worker's number has eight bits");
    }
    ConnectionTable(const ConnectionTable&) = delete;
    ConnectionTable& operator=(const ConnectionTable&) = delete;
    ~ConnectionTable() {
        for_each([this](Connection& connection) { remove(connection); });
    }

    std::size_t size() const { return size_; }

    // `arguments` follow the port in Connection's constructor. Throws std::bad_alloc, and then adds nothing.
    template <class... Arguments>
    Connection& add(Port port, Arguments&&... arguments) {
        auto& free = free_of(port);
        if (free.empty()) add_block(port);
        const std::uint32_t index = free.back();
        const ConnectionId id{first_slot_ | index, generations_[index] + 1};
        Connection& added = *std::construct_at(&at(index), id, port, std::forward<Arguments>(arguments)...);
        generations_[index] = id.generation;
        free.pop_back();
        ++size_;
        return added;
    }

    // Null when it is gone.
    Connection* find(ConnectionId id) {
        const std::uint32_t index = id.slot - first_slot_;
        if (index >= generations_.size() || generations_[index] != id.generation || !is_live(id.generation))
            return nullptr;
        return &at(index);
    }

    // By the index that index_of() gave; only while the connection exists.
    Connection& at(std::uint32_t index) { return blocks_[index / block_size][index % block_size].connection; }

    void remove(Connection& connection) {
        const std::uint32_t index = index_of(connection.id);
        MUSTER_CHECK(find(connection.id) == &connection, "a connection is removed once");
        auto& free = free_of(connection.port);
        std::destroy_at(&connection);
        ++generations_[index];
        free.push_back(index);
        --size_;
    }

    // Calls visit(connection) for each; `visit` may remove the one it is called with.
    template <class Visit>
    void for_each(Visit visit) {
        for (std::uint32_t index = 0; index < generations_.size(); ++index) {
            if (is_live(generations_[index])) visit(at(index));
        }
    }

private:
    static constexpr std::size_t block_size = 256;

    // Whether a connection lives here is said by its generation, apart from it: looking for one that is gone, or for
    // one of many, takes as little memory into the cache as can be.
    union Place {
        Place() {}
        ~Place() {}
        Connection connection;
    };

    static constexpr bool is_live(std::uint32_t generation) { return generation % 2 == 1; }

    std::vector<std::uint32_t>& free_of(Port port) { return free_[static_cast<std::size_t>(port)]; }

    // Makes room in the port's list for every slot, so that removing takes no memory.
    void add_block(Port port) {
        auto& free = free_of(port);
        const std::size_t first = generations_.size();
        MUSTER_CHECK(first + block_size <= std::size_t{1} << index_bits,
                     "limits keep the connections under 16 million");
        free.reserve(first + block_size);
        generations_.reserve(first + block_size);
        blocks_.push_back(std::make_unique<Place[]>(block_size));
        generations_.resize(first + block_size);
        for (std::size_t i = block_size; i-- > 0;) free.push_back(static_cast<std::uint32_t>(first + i));
    }

    const std::uint32_t first_slot_;
    std::vector<std::unique_ptr<Place[]>> blocks_;
    std::vector<std::uint32_t> generations_;                     // odd while a connection lives in the slot
    std::array<std::vector<std::uint32_t>, ports.size()> free_;  // by port
    std::size_t size_ = 0;
};

}  // namespace muster
