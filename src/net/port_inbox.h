// What the peers of one port did, on its way from the network's workers to the game loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "base/function.h"
#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "net/close_reason.h"
#include "protocol/link_fault.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"

namespace muster {

// Of one connection come: opened; frames, paused and resumed in turn, drained where the loop asked for it; malformed or
// gave_up, after which no frame comes, unless what was missed is the handshake deadline and the loop had accepted the
// handshake; closed. Opened and closed come exactly once; of a connection whose TLS handshake fails nothing comes.
enum class InboundKind : std::uint8_t { opened, frame, malformed, gave_up, paused, resumed, drained, closed };

constexpr std::string_view to_string(InboundKind kind) {
    switch (kind) {
        case InboundKind::opened:
            return "opened";
        case InboundKind::frame:
            return "frame";
        case InboundKind::malformed:
            return "malformed";
        case InboundKind::gave_up:
            return "gave up";
        case InboundKind::paused:
            return "paused";
        case InboundKind::resumed:
            return "resumed";
        case InboundKind::drained:
            return "drained";
        case InboundKind::closed:
            return "closed";
    }
    return "";
}

struct InboundItem {
    ConnectionId connection;
    Time received;
    std::uint32_t offset = 0;  // of a frame's payload, or an opened link's address and name, in the batch's bytes
    std::uint32_t length = 0;
    std::uint32_t rtt_us = 0;  // of a frame: the kernel's round trip, where it was sampled
    Code code = 0;             // of a frame
    InboundKind kind = InboundKind::frame;
    std::uint8_t detail = 0;  // a WireError, LinkFault or CloseReason, as the kind wants it

    WireError error() const { return static_cast<WireError>(detail); }
    LinkFault fault() const { return static_cast<LinkFault>(detail); }
    CloseReason reason() const { return static_cast<CloseReason>(detail); }
};
static_assert(sizeof(InboundItem) == 32);

// Items in order, and the bytes they point into. Adding throws std::bad_alloc and then adds no item.
class InboundBatch {
public:
    bool empty() const { return items_.empty(); }
    std::size_t size() const { return items_.size(); }
    std::size_t byte_count() const { return bytes_.size(); }

    void add_frame(ConnectionId from, Time received, Code code, std::span<const std::byte> payload,
                   std::uint32_t rtt_us) {
        const std::size_t offset = bytes_.size();
        bytes_.append(payload);
        items_.push_back({.connection = from,
                          .received = received,
                          .offset = static_cast<std::uint32_t>(offset),
                          .length = static_cast<std::uint32_t>(payload.size()),
                          .rtt_us = rtt_us,
                          .code = code,
                          .kind = InboundKind::frame});
    }
    // `name` is what the peer's certificate says, proven by it; empty without one (S-2).
    void add_opened(ConnectionId connection, Time received, const IpAddress& from, std::string_view name = {});
    // Any kind but frame and opened.
    void add(InboundKind kind, ConnectionId connection, Time received, std::uint8_t detail = 0);

    // Appends all of `other`, which is empty afterwards.
    void add_all(InboundBatch& other);

    const InboundItem& operator[](std::size_t index) const { return items_[index]; }
    std::span<const std::byte> payload(const InboundItem& item) const {
        return bytes_.view().subspan(item.offset, item.length);
    }
    // Of an opened item.
    IpAddress address(const InboundItem& item) const;
    std::string_view name(const InboundItem& item) const;

    // Forgets the first items; their bytes stay until the batch is empty.
    void drop_first(std::size_t count);

    // Empties it; memory stays for the next round, unless that is much more than was used.
    void clear();
    void swap(InboundBatch& other) noexcept;

private:
    std::vector<InboundItem> items_;
    ByteBuffer bytes_;
};

// Bounded: a full inbox has the workers leave the port's sockets unread, and nothing is lost (B-1). Workers publish a
// turn's batch at once, under one lock; the loop takes all there is.
class PortInbox {
public:
    struct Bounds {
        std::size_t items = 65'536;
        std::size_t bytes = std::size_t{4} << 20;
    };

    // `on_room` is called by take() after a worker found the inbox full; it wakes the workers.
    PortInbox(Port port, Bounds bounds, Function<void()> on_room);

    Port port() const { return port_; }

    // Workers. Whether more may be read, with `unpublished` still to come on top.
    bool has_room(const InboundBatch& unpublished) const {
        return items_.load(std::memory_order_acquire) + unpublished.size() < bounds_.items &&
               bytes_.load(std::memory_order_relaxed) + unpublished.byte_count() < bounds_.bytes;
    }

    // Workers. Takes the whole batch, full or not: the bound is kept by not reading more. False when the inbox is full
    // now; on_room will be called. Throws std::bad_alloc, and then the batch stays with the worker.
    bool publish(InboundBatch& batch);

    // The loop. Swaps what waits into `batch`, which must be empty. False when nothing waited.
    bool take(InboundBatch& batch);

    // The loop. Gives back what it took and did not handle, for who takes next; it comes before all that came since.
    void put_back(InboundBatch& batch);

    // Of the moment.
    std::size_t size() const { return items_.load(std::memory_order_acquire); }

private:
    const Port port_;
    const Bounds bounds_;
    Function<void()> on_room_;

    std::atomic<std::size_t> items_{0};
    std::atomic<std::size_t> bytes_{0};
    std::mutex mutex_;
    InboundBatch waiting_;       // guarded by mutex_
    bool worker_waits_ = false;  // guarded by mutex_
};

}  // namespace muster
