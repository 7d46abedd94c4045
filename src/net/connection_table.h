// A worker's connections, found by their id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "net/connection.h"
#include "net/connection_slots.h"
#include "protocol/port.h"

namespace muster {

// By the ids of ConnectionSlots, with the connections themselves. References stay good until the connection is removed.
// One thread.
class ConnectionTable {
public:
    static constexpr std::size_t workers_max = ConnectionSlots::workers_max;

    static constexpr std::size_t worker_of(ConnectionId id) { return ConnectionSlots::worker_of(id); }
    static constexpr std::uint32_t index_of(ConnectionId id) { return ConnectionSlots::index_of(id); }

    explicit ConnectionTable(std::size_t worker) : slots_(worker) {}
    ConnectionTable(const ConnectionTable&) = delete;
    ConnectionTable& operator=(const ConnectionTable&) = delete;
    ~ConnectionTable() {
        for_each([this](Connection& connection) { remove(connection); });
    }

    std::size_t size() const { return size_; }

    // `arguments` follow the port in Connection's constructor. Throws std::bad_alloc, and then adds nothing.
    template <class... Arguments>
    Connection& add(Port port, Arguments&&... arguments) {
        const ConnectionId id = slots_.next(port);
        while (blocks_.size() * block_size < slots_.count()) blocks_.push_back(std::make_unique<Place[]>(block_size));
        Connection& added = *std::construct_at(&at(index_of(id)), id, port, std::forward<Arguments>(arguments)...);
        slots_.take(id, port);
        ++size_;
        return added;
    }

    // Null when it is gone.
    Connection* find(ConnectionId id) { return slots_.is_live(id) ? &at(index_of(id)) : nullptr; }

    // By the index that index_of() gave; only while the connection exists.
    Connection& at(std::uint32_t index) { return blocks_[index / block_size][index % block_size].connection; }

    void remove(Connection& connection) {
        const ConnectionId id = connection.id;
        const Port port = connection.port;
        MUSTER_CHECK(find(id) == &connection, "a connection is removed once");
        std::destroy_at(&connection);
        slots_.release(id, port);
        --size_;
    }

    // Calls visit(connection) for each; `visit` may remove the one it is called with.
    template <class Visit>
    void for_each(Visit visit) {
        for (std::uint32_t index = 0; index < slots_.count(); ++index) {
            if (slots_.is_live(index)) visit(at(index));
        }
    }

private:
    static constexpr std::size_t block_size = ConnectionSlots::block_size;

    // Whether a connection lives here is said by its generation, apart from it: looking for one that is gone, or for
    // one of many, takes as little memory into the cache as can be.
    union Place {
        Place() {}
        ~Place() {}
        Connection connection;
    };

    ConnectionSlots slots_;
    std::vector<std::unique_ptr<Place[]>> blocks_;
    std::size_t size_ = 0;
};

}  // namespace muster
