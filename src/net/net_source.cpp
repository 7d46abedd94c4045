#include "net/net_source.h"

#include <exception>

#include "protocol/messages.h"

namespace muster {

NetSource::NetSource(Network& network, Port port, LinkEvents& events)
    : network_(network),
      inbox_(network.inbox(port)),
      events_(events),
      port_(port),
      is_first_(network.claim_first_source()) {}

bool NetSource::refill() {
    if (is_first_) network_.turn_without_thread();
    if (next_ < batch_.size()) return true;
    batch_.clear();
    next_ = 0;
    const bool some = inbox_.take(batch_);
    unhandled_.store(batch_.size(), std::memory_order_relaxed);
    return some;
}

bool NetSource::handle_next(const Pass& pass) {
    if (next_ == batch_.size()) return false;
    const InboundItem& item = batch_[next_++];
    unhandled_.store(batch_.size() - next_, std::memory_order_relaxed);
    last_kind_ = item.kind;
    last_code_ = item.code;
    handle(pass, item);
    return true;
}

void NetSource::handle(const Pass& pass, const InboundItem& item) {
    switch (item.kind) {
        case InboundKind::opened:
            return events_.opened(pass, item.connection, batch_.address(item));
        case InboundKind::frame:
            return handle_frame(pass, item);
        case InboundKind::malformed:
            return events_.malformed(pass, item.connection, item.error());
        case InboundKind::deadline:
            // The acceptance and the deadline crossed on their ways; the worker lets the link go on.
            if (item.deadline() == LinkDeadline::handshake && network_.links().is_greeted(item.connection)) return;
            return events_.deadline_missed(pass, item.connection, item.deadline());
        case InboundKind::flooded:
            return events_.flooded(pass, item.connection);
        case InboundKind::paused:
            return events_.paused(pass, item.connection);
        case InboundKind::resumed:
            return events_.resumed(pass, item.connection);
        case InboundKind::closed:
            return events_.closed(pass, item.connection, item.reason());
    }
}

void NetSource::handle_frame(const Pass& pass, const InboundItem& item) {
    try {
        events_.frame(pass, {item.connection, item.received, item.code, batch_.payload(item), item.rtt_us});
    } catch (...) {
        events_.frame_failed(pass, item.connection);
        throw;
    }
}

std::string_view NetSource::last_handled() const {
    switch (last_kind_) {
        case InboundKind::opened:
            return "opened";
        case InboundKind::frame: {
            const std::string_view name = message_name(port_, Direction::in, last_code_);
            return name.empty() ? "unknown message" : name;
        }
        case InboundKind::malformed:
            return "malformed";
        case InboundKind::deadline:
            return "deadline missed";
        case InboundKind::flooded:
            return "flooded";
        case InboundKind::paused:
            return "paused";
        case InboundKind::resumed:
            return "resumed";
        case InboundKind::closed:
            return "closed";
    }
    return "";
}

std::size_t NetSource::depth() const {
    return inbox_.size() + unhandled_.load(std::memory_order_relaxed);
}

void NetSource::catch_up() {
    if (is_first_) network_.catch_up();
}

}  // namespace muster
