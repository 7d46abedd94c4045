// One TCP connection as its worker sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "net/file_descriptor.h"
#include "net/link_buffer.h"
#include "net/link_fate.h"
#include "net/message_rate.h"
#include "protocol/port.h"
#include "runtime/timer_id.h"

namespace muster {

enum class LinkStage : std::uint8_t {
    open,       // frames are read
    told,       // the loop was told of a fault; nothing is read until it decides
    flushing,   // closing: the last words are on their way out
    lingering,  // closing: all is sent and said to be so; whatever the peer still sends is dropped
};

// A deadline that stands still while Muster does not read the port (B-1).
struct LinkTimer {
    TimerId id;
    Time due;  // in the port's read time
};

// The worker's thread only. A request touches the first two cache lines and no more: with many links, memory is what
// it costs.
struct alignas(64) Connection {
    Connection(ConnectionId name, Port of, FileDescriptor opened, const IpAddress& peer, const MessageRate& bucket,
               BufferBudget& budget)
        : id(name), socket(std::move(opened)), port(of), rate(bucket), in(budget), out(budget), from(peer) {}

    bool is_closing() const { return stage == LinkStage::flushing || stage == LinkStage::lingering; }

    ConnectionId id;
    FileDescriptor socket;
    Port port;
    LinkStage stage = LinkStage::open;
    CloseReason close_reason = CloseReason::asked;  // once it is closing
    bool unread : 1 = false;                        // the socket may have bytes for us
    bool listed : 1 = false;                        // among its lane's ready links
    bool ending : 1 = false;                        // the peer sends no more: after the last bytes comes the end
    bool writable : 1 = true;                       // the socket may take bytes
    bool broken : 1 = false;                        // it took no more bytes
    bool throttled : 1 = false;                     // over its rate, waiting for credit
    bool resuming : 1 = false;                      // was throttled; frames in `in` come before new bytes
    bool over_rate : 1 = false;                     // since it was throttled it has not caught up
    bool told_paused : 1 = false;                   // told to the loop as paused, not yet as resumed
    bool handshake_missed : 1 = false;              // told for its handshake deadline, which the loop may overrule
    bool frame_begun : 1 = false;                   // its frame deadline runs
    std::uint32_t rtt_sampled_ms = 0;               // when; wraps round

    // The entries of the outbox batch under way that are for this connection.
    std::uint64_t batch = 0;
    std::uint32_t first_entry = 0;
    std::uint32_t last_entry = 0;
    MessageRate rate;

    LinkBuffer in;   // an unfinished frame; of a throttled link also frames it may not send yet
    LinkBuffer out;  // what the peer has not taken yet

    LinkTimer frame_timer;
    LinkTimer handshake_timer;
    TimerId pause_timer;
    TimerId close_timer;
    Time over_rate_since;  // in the port's read time
    IpAddress from;
};
static_assert(offsetof(Connection, in) == 64);
static_assert(offsetof(Connection, frame_timer) == 128);

}  // namespace muster
