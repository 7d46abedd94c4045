// What core sends, on its way to net's links.
#pragma once

#include "core/link_output.h"
#include "net/links.h"

namespace muster {

// Game thread only.
class CoreLinks final : public LinkOutput {
public:
    explicit CoreLinks(Links& links) : links_(links) {}

    void send(ConnectionId to, std::span<const std::byte> frame) override { links_.send(to, frame); }
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) override {
        links_.send_to_all(to, frame);
    }
    void report_drained(ConnectionId link) override { links_.report_drained(link); }
    void greeted(ConnectionId link) override { links_.greeted(link); }
    void close(ConnectionId link) override { links_.close_after_flush(link); }

private:
    Links& links_;
};

}  // namespace muster
