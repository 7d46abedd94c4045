// What the peers of one port did, as the game loop handles it: one call for each thing that happened.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "net/link_fate.h"
#include "net/network.h"
#include "net/port_inbox.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"
#include "runtime/message_source.h"

namespace muster {

struct InboundFrame {
    ConnectionId from;
    // When the worker read it.
    Time received;
    Code code = 0;
    std::span<const std::byte> payload;  // good during the call
    std::uint32_t rtt_us = 0;            // the kernel's round trip, where it was sampled; else 0
};

// Who handles them. Game thread.
//
// Each link begins with opened() and ends with closed(), once each. After malformed(), flooded() or deadline_missed()
// the link is not read any more: the handler answers and closes it.
class LinkEvents {
public:
    virtual ~LinkEvents() = default;

    virtual void opened(const Pass& pass, ConnectionId link, const IpAddress& from) = 0;
    virtual void frame(const Pass& pass, const InboundFrame& frame) = 0;
    virtual void malformed(const Pass& pass, ConnectionId link, WireError kind) = 0;
    // Not called for the handshake of a link that was greeted meanwhile.
    virtual void deadline_missed(const Pass& pass, ConnectionId link, LinkDeadline which) = 0;
    // It sent too fast for too long.
    virtual void flooded(const Pass& pass, ConnectionId link) = 0;
    // It sends too fast and is read no faster than its limit, or its port's inbox has been full for a second while it
    // had something to say; its silence means nothing until it has resumed (B-1).
    virtual void paused(const Pass& pass, ConnectionId link) = 0;
    virtual void resumed(const Pass& pass, ConnectionId link) = 0;
    virtual void closed(const Pass& pass, ConnectionId link, CloseReason reason) = 0;
    // frame() threw; the loop will count and log that. The handler closes the link (fault 13).
    virtual void frame_failed(const Pass& pass, ConnectionId link) = 0;
};

// Game thread only, but for depth(). Network and handler outlive it.
class NetSource final : public MessageSource {
public:
    NetSource(Network& network, Port port, LinkEvents& events);

    std::string_view name() const override { return to_string(port_); }
    bool refill() override;
    bool handle_next(const Pass& pass) override;
    std::string_view last_handled() const override;
    std::size_t depth() const override;
    void catch_up() override;

private:
    void handle(const Pass& pass, const InboundItem& item);
    void handle_frame(const Pass& pass, const InboundItem& item);

    Network& network_;
    PortInbox& inbox_;
    LinkEvents& events_;
    const Port port_;
    const bool is_first_;  // does what is done once a pass for the whole network
    InboundBatch batch_;
    std::size_t next_ = 0;  // the first of it that is not handled
    InboundKind last_kind_ = InboundKind::opened;
    Code last_code_ = 0;

    std::atomic<std::size_t> unhandled_{0};  // any thread: what is left of the batch
};

}  // namespace muster
