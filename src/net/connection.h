// One TCP connection as its worker sees it. link_stage.h tells the stages of its life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "net/close_reason.h"
#include "net/file_descriptor.h"
#include "net/link_buffer.h"
#include "net/link_stage.h"
#include "net/message_rate.h"
#include "protocol/port.h"
#include "runtime/timer_id.h"
#include "tls/tls_link.h"

namespace muster {

// What the socket does with bytes for the peer.
enum class SendSide : std::uint8_t {
    ready,   // it may take them
    full,    // it takes none until the poller reports room
    broken,  // it takes none any more; what the peer said before is still read
};

// A deadline that stands still while Muster does not read the port (B-1).
struct LinkTimer {
    TimerId id;
    Time due;  // in the port's read time
};

// The worker's thread only. A request touches the first 88 bytes, which are in two cache lines: with many links, cache
// misses dominate the cost.
struct alignas(32) Connection {
    Connection(ConnectionId name, Port of, FileDescriptor opened, const IpAddress& peer, const MessageRate& bucket,
               BufferBudget& buffers, std::unique_ptr<TlsLink> with_tls = nullptr)
        : id(name),
          socket(std::move(opened)),
          port(of),
          life(with_tls ? LinkStage::securing : LinkStage::reading),
          rate(bucket),
          budget(&buffers),
          from(peer),
          tls(std::move(with_tls)) {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { budget->give_back(sealed); }

    // What `tls` keeps of a record is charged to the budget, as what `in` keeps of a frame. Throws std::bad_alloc, and
    // changes nothing, when the budget has no more.
    void keep_sealed(std::size_t bytes) {
        static_assert(TlsLink::plain_extra <= UINT16_MAX);
        if (bytes > sealed && !budget->take(bytes - sealed)) throw std::bad_alloc();
        if (bytes < sealed) budget->give_back(sealed - bytes);
        sealed = static_cast<std::uint16_t>(bytes);
    }

    LinkStage stage() const { return life.stage(); }
    void enter(LinkStage next) { life.enter(next); }
    bool is_heard() const { return muster::is_heard(stage()); }
    bool is_closing() const { return muster::is_closing(stage()); }

    ConnectionId id;
    FileDescriptor socket;
    Port port;
    LinkLife life;
    CloseReason close_reason = CloseReason::asked;  // once it is closing
    SendSide send_side = SendSide::ready;
    bool unread : 1 = false;           // the socket may have bytes for us
    bool listed : 1 = false;           // among its port's ready links or newcomers
    bool ending : 1 = false;           // the peer sends no more: after the last bytes comes the end
    bool over_rate : 1 = false;        // it was throttled and has not caught up yet
    bool told_paused : 1 = false;      // told to the loop as paused, not yet as resumed
    bool frame_begun : 1 = false;      // its frame deadline runs
    bool waits_for_us : 1 = false;     // its TLS handshake could have begun, but is among its port's newcomers
    bool drain_wanted : 1 = false;     // the loop wants to know when `out` is empty
    std::uint16_t sealed = 0;          // bytes of a record in `tls` that has not come whole
    std::uint32_t rtt_sampled_ms = 0;  // when; wraps round

    // The entries of the outbox batch under way that are for this connection.
    std::uint64_t batch = 0;
    std::uint32_t first_entry = 0;
    std::uint32_t last_entry = 0;
    MessageRate rate;

    BufferBudget* budget;  // of the next two; not null
    LinkBuffer in;         // an unfinished frame; of a throttled link also frames it may not send yet
    LinkBuffer out;        // what the peer has not taken yet; sealed, where there is TLS

    LinkTimer frame_timer;
    LinkTimer handshake_timer;
    TimerId rest_timer;    // of a throttled link: when it is read again; of a closing one: when it is cut
    Time over_rate_since;  // in the port's read time
    IpAddress from;
    std::unique_ptr<TlsLink> tls;  // of each link of a port that has TLS, and of no other
};
static_assert(offsetof(Connection, budget) == 64);
static_assert(offsetof(Connection, frame_timer) == 88);
static_assert(sizeof(Connection) == 160);

}  // namespace muster
