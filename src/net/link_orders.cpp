#include "net/link_orders.h"

#include <new>

#include "net/link_writer.h"

namespace muster {

bool LinkOrders::obey(Outbox& outbox, const TurnTime& at) {
    if (orders_.empty() && !outbox.take(orders_)) return true;
    try {
        chain_by_link();
    } catch (const std::bad_alloc&) {
        return false;
    }
    for (Connection* link : addressed_) links_.cut_if_out_of_memory(*link, at, [&] { obey(*link, at); });
    orders_.clear();
    return true;
}

void LinkOrders::chain_by_link() {
    ++number_;
    addressed_.clear();
    next_.resize(orders_.entries.size());
    ConnectionId found;
    Connection* link = nullptr;
    for (std::uint32_t i = 0; i < orders_.entries.size(); ++i) {
        const OutboundEntry& order = orders_.entries[i];
        // Who says much at once is answered much at once: a row of orders for one link is looked up once.
        if (order.connection != found) link = links_.find(found = order.connection);
        if (!link) {
            if (order.action == OutboundAction::send) figures_.stale_replies.add();
            continue;
        }
        if (link->batch != number_) {
            addressed_.push_back(link);
            link->batch = number_;
            link->first_entry = i;
        } else {
            next_[link->last_entry] = i;
        }
        link->last_entry = i;
    }
}

void LinkOrders::obey(Connection& link, const TurnTime& at) {
    std::optional<OutboundAction> close;
    const auto bytes = frames_for(link, close);
    if (close == OutboundAction::cut) return links_.cut(link, CloseReason::asked, at);
    if (!bytes.empty()) {
        const WriteOutcome outcome = write(link, bytes);
        if (!links_.was_written(link, outcome, at)) return;
    }
    links_.tell_if_drained(link, at);
    if (close) links_.close_after_flush(link, CloseReason::asked, at);
}

WriteOutcome LinkOrders::write(Connection& link, std::span<const std::byte> bytes) {
    WorkerPort& worker_port = links_.port_of(link);
    if (!worker_port.tls) return write_to_link(link, worker_port, bytes);
    sealed_.clear();
    if (!link.tls->send(bytes, sealed_)) return WriteOutcome::broken;
    return write_to_link(link, worker_port, sealed_);
}

// What stands behind a close is for a link that the loop has given up: nobody gets it.
std::span<const std::byte> LinkOrders::frames_for(Connection& link, std::optional<OutboundAction>& close) {
    std::span<const std::byte> bytes;
    joined_.clear();
    for (std::uint32_t i = link.first_entry;; i = next_[i]) {
        const OutboundEntry& order = orders_.entries[i];
        switch (order.action) {
            case OutboundAction::greeted:
                links_.greeted(link);
                break;
            case OutboundAction::report_drained:
                link.drain_wanted = true;
                break;
            case OutboundAction::cut:
                close = order.action;
                return bytes;
            case OutboundAction::close_after_flush:
                close = order.action;
                break;
            case OutboundAction::send:
                if (close || link.is_closing()) {
                    figures_.stale_replies.add();
                } else {
                    ++links_.port_of(link).frames_out;
                    const auto frame = orders_.frame(order);
                    if (bytes.data() + bytes.size() == frame.data()) {
                        bytes = {bytes.data(), bytes.size() + frame.size()};  // side by side in the batch, as mostly
                    } else if (bytes.empty()) {
                        bytes = frame;
                    } else {
                        join(bytes, frame);
                    }
                }
                break;
        }
        if (i == link.last_entry) return bytes;
    }
}

// Frames that do not lie side by side are copied together, which is cheaper than a second system call.
void LinkOrders::join(std::span<const std::byte>& bytes, std::span<const std::byte> frame) {
    if (joined_.empty()) joined_.assign(bytes.begin(), bytes.end());
    joined_.insert(joined_.end(), frame.begin(), frame.end());
    bytes = joined_;
}

}  // namespace muster
