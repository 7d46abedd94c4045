// What the game loop has for one worker's connections: frames and orders, in the order they were given.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/byte_buffer.h"
#include "base/ids.h"

namespace muster {

enum class OutboundAction : std::uint8_t {
    send,
    send_soon,          // the same, but it may wait a moment for others: see HeldLinks
    greeted,            // the handshake was accepted: its deadline is over
    report_drained,     // tell the loop when all that was sent before has left
    close_after_flush,  // after what was sent before
    cut,                // at once, with whatever is unsent
};

struct OutboundEntry {
    ConnectionId connection;
    std::uint32_t offset = 0;  // of the frame in the batch's bytes; several entries may share one
    std::uint32_t length = 0;
    OutboundAction action = OutboundAction::send;
};

struct OutboundBatch {
    std::vector<OutboundEntry> entries;
    ByteBuffer bytes;

    bool empty() const { return entries.empty(); }
    std::span<const std::byte> frame(const OutboundEntry& entry) const {
        return bytes.view().subspan(entry.offset, entry.length);
    }
    // Adds a whole frame for the connection. The caller fills it: length, code, payload.
    std::byte* add_frame(ConnectionId to, std::size_t size, OutboundAction action = OutboundAction::send) {
        const auto offset = static_cast<std::uint32_t>(bytes.size());
        std::byte* frame = bytes.extend(size);
        entries.push_back({to, offset, static_cast<std::uint32_t>(size), action});
        return frame;
    }
    // Appends all of `other`, which is empty afterwards.
    void add_all(OutboundBatch& other);
    // Empties it; memory stays for the next round, unless that is much more than was used.
    void clear();
};

// The loop fills a batch of its own and hands it over at the end of a pass; the worker takes all there is.
class Outbox {
public:
    // The loop. `batch` is empty afterwards.
    void put(OutboundBatch& batch);

    // The worker. Swaps what waits into `batch`, which must be empty. False when nothing waited.
    bool take(OutboundBatch& batch);

    // Of the moment.
    bool empty() const { return bytes_and_entries_.load(std::memory_order_seq_cst) == 0; }
    // Bytes of memory that wait to be taken.
    std::size_t size() const { return bytes_and_entries_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::size_t> bytes_and_entries_{0};
    std::mutex mutex_;
    OutboundBatch waiting_;  // guarded by mutex_
};

}  // namespace muster
