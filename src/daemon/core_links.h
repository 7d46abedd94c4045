// What core sends, on its way to net's links or to the operator's own.
#pragma once

#include "core/link_output.h"
#include "daemon/operator_link.h"
#include "net/links.h"

namespace muster {

// Game thread only.
class CoreLinks final : public LinkOutput {
public:
    explicit CoreLinks(Links& links) : links_(links) {}
    // What is meant for the operator's link goes there.
    void connect(OperatorLink& operator_link) { operator_link_ = &operator_link; }

    void send(ConnectionId to, std::span<const std::byte> frame) override {
        if (is_inside(to)) return operator_link_->sent(frame);
        links_.send(to, frame);
    }
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) override {
        links_.send_to_all(to, frame);
    }
    void greeted(ConnectionId link) override {
        if (!is_inside(link)) links_.greeted(link);
    }
    void close(ConnectionId link) override {
        if (is_inside(link)) return operator_link_->close();
        links_.close_after_flush(link);
    }

private:
    Links& links_;
    OperatorLink* operator_link_ = nullptr;
};

}  // namespace muster
