// What the peers of one port did, as the game loop handles it: one call for each thing that happened.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/ip_address.h"
#include "net/port_inbox.h"
#include "protocol/link_fault.h"
#include "protocol/messages.h"
#include "protocol/peer_frame.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"
#include "runtime/message_source.h"

namespace muster {

// Who handles them, on the game thread: core in the daemon.
//
// Each link begins with opened() and ends with closed(), once each. opened() comes with the name that the peer's
// certificate proves, or with none. After malformed() or gave_up() the link is not read
// any more, and the handler answers and closes it; but a handshake deadline may cross the handshake's acceptance, and
// then the link goes on and the handler ignores it. A paused link sends too fast and is read no faster than its limit,
// or its port's inbox has been full for a second while it had something to say; its silence means nothing until it has
// resumed (B-1). drained() says once that all has left which was sent before Links::report_drained(). handler_failed()
// says that frame() threw; the handler closes the link, and the loop counts and logs (fault 13).
template <class T>
concept LinkHandler = requires(T& handler, const Pass& pass, ConnectionId link, const PeerFrame& frame) {
    handler.opened(pass, link, Port::servers, IpAddress(), std::string_view());
    handler.frame(pass, link, frame);
    handler.malformed(pass, link, WireError::truncated);
    handler.gave_up(pass, link, LinkFault::flooded);
    handler.paused(pass, link);
    handler.resumed(pass, link);
    handler.drained(link);
    handler.closed(pass, link);
    handler.handler_failed(pass, link);
};

// Whose inboxes they are: Network in the daemon, and in the simulator one without sockets.
template <class T>
concept PortInboxes = requires(T& network) {
    { network.inbox(Port::servers) } -> std::same_as<PortInbox&>;
    { network.claim_first_source() } -> std::same_as<bool>;
    network.turn_without_thread();
    network.catch_up();
};

// Whoever handles the links of one port may pause, or leave them to somebody else. Game thread only.
class PortSource : public MessageSource {
public:
    // Handles nothing more, or goes on. What is not handled waits.
    virtual void park(bool parked) = 0;
    // What was taken and not handled is for who handles the port's links next.
    virtual void give_back() = 0;
};

// Game thread only, but for depth(). Network and handler outlive it.
template <LinkHandler Handler, PortInboxes Net>
class NetSource final : public PortSource {
public:
    NetSource(Net& network, Port port, Handler& handler)
        : network_(network),
          inbox_(network.inbox(port)),
          handler_(handler),
          port_(port),
          is_first_(network.claim_first_source()) {}

    std::string_view name() const override { return to_string(port_); }

    void park(bool parked) override { is_parked_ = parked; }
    void give_back() override {
        batch_.drop_first(next_);
        next_ = 0;
        inbox_.put_back(batch_);
        batch_.clear();
        unhandled_.store(0, std::memory_order_relaxed);
    }

    bool refill() override {
        if (is_first_) network_.turn_without_thread();
        if (is_parked_) return false;
        if (next_ < batch_.size()) return true;
        batch_.clear();
        next_ = 0;
        const bool some = inbox_.take(batch_);
        unhandled_.store(batch_.size(), std::memory_order_relaxed);
        return some;
    }

    bool handle_next(const Pass& pass) override {
        if (is_parked_ || next_ == batch_.size()) return false;
        const InboundItem& item = batch_[next_++];
        unhandled_.store(batch_.size() - next_, std::memory_order_relaxed);
        last_kind_ = item.kind;
        last_code_ = item.code;
        handle(pass, item);
        return true;
    }

    std::string_view last_handled() const override {
        if (last_kind_ != InboundKind::frame) return to_string(last_kind_);
        const std::string_view name = message_name(port_, Direction::in, last_code_);
        return name.empty() ? "unknown message" : name;
    }

    std::size_t depth() const override { return inbox_.size() + unhandled_.load(std::memory_order_relaxed); }

    void catch_up() override {
        if (is_first_) network_.catch_up();
    }

private:
    void handle(const Pass& pass, const InboundItem& item) {
        const ConnectionId link = item.connection;
        switch (item.kind) {
            case InboundKind::opened:
                return handler_.opened(pass, link, port_, batch_.address(item), batch_.name(item));
            case InboundKind::frame:
                return handle_frame(pass, item);
            case InboundKind::malformed:
                return handler_.malformed(pass, link, item.error());
            case InboundKind::gave_up:
                return handler_.gave_up(pass, link, item.fault());
            case InboundKind::paused:
                return handler_.paused(pass, link);
            case InboundKind::resumed:
                return handler_.resumed(pass, link);
            case InboundKind::drained:
                return handler_.drained(link);
            case InboundKind::closed:
                return handler_.closed(pass, link);
        }
    }

    void handle_frame(const Pass& pass, const InboundItem& item) {
        try {
            handler_.frame(pass, item.connection,
                           PeerFrame{item.code, batch_.payload(item), item.received, item.rtt_us});
        } catch (...) {
            handler_.handler_failed(pass, item.connection);
            throw;
        }
    }

    Net& network_;
    PortInbox& inbox_;
    Handler& handler_;
    const Port port_;
    const bool is_first_;  // does what is done once a pass for the whole network
    bool is_parked_ = false;
    InboundBatch batch_;
    std::size_t next_ = 0;  // the first of it that is not handled
    InboundKind last_kind_ = InboundKind::opened;
    Code last_code_ = 0;

    std::atomic<std::size_t> unhandled_{0};  // any thread: what is left of the batch
};

}  // namespace muster
