// The two directions between core and the network: what core sends goes to net's links, what net reports goes to core.
#pragma once

#include "core/core.h"
#include "core/link_output.h"
#include "daemon/operator_link.h"
#include "net/links.h"
#include "net/net_source.h"

namespace muster {

// Game thread only.
class CoreLinks final : public LinkOutput {
public:
    explicit CoreLinks(Links& links) : links_(links) {}
    // What is meant for the operator's link goes there.
    void connect(OperatorLink& operator_link) { operator_link_ = &operator_link; }

    void send(ConnectionId to, std::span<const std::byte> frame) override {
        if (to == OperatorLink::link) return operator_link_->sent(frame);
        links_.send(to, frame);
    }
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) override {
        links_.send_to_all(to, frame);
    }
    void greeted(ConnectionId link) override {
        if (link != OperatorLink::link) links_.greeted(link);
    }
    void close(ConnectionId link) override {
        if (link == OperatorLink::link) return operator_link_->close();
        links_.close_after_flush(link);
    }

private:
    Links& links_;
    OperatorLink* operator_link_ = nullptr;
};

// One port's. Game thread only.
class CoreEvents final : public LinkEvents {
public:
    CoreEvents(Core& core, Port port) : core_(core), port_(port) {}

    void opened(const Pass& pass, ConnectionId link, const IpAddress& from) override {
        core_.opened(pass, link, port_, from);
    }
    void frame(const Pass& pass, const InboundFrame& frame) override {
        core_.frame(pass, frame.from, PeerFrame{frame.code, frame.payload, frame.received, frame.rtt_us});
    }
    void malformed(const Pass& pass, ConnectionId link, WireError kind) override { core_.malformed(pass, link, kind); }
    void deadline_missed(const Pass& pass, ConnectionId link, LinkDeadline which) override {
        core_.gave_up(pass, link,
                      which == LinkDeadline::handshake ? LinkFault::handshake_deadline : LinkFault::frame_deadline);
    }
    void flooded(const Pass& pass, ConnectionId link) override { core_.gave_up(pass, link, LinkFault::flooded); }
    void paused(const Pass& pass, ConnectionId link) override { core_.paused(pass, link); }
    void resumed(const Pass& pass, ConnectionId link) override { core_.resumed(pass, link); }
    void closed(const Pass& pass, ConnectionId link, CloseReason) override { core_.closed(pass, link); }
    void frame_failed(const Pass& pass, ConnectionId link) override { core_.handler_failed(pass, link); }

private:
    Core& core_;
    const Port port_;
};

}  // namespace muster
