#include "net/link_orders.h"

#include <new>

#include "net/link_writer.h"

namespace muster {
namespace {

bool is_frame(OutboundAction action) {
    return action == OutboundAction::send || action == OutboundAction::send_soon;
}

}  // namespace

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
            if (is_frame(order.action)) figures_.stale_replies.add();
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
    const Frames frames = frames_for(link);
    if (frames.close == OutboundAction::cut) return links_.cut(link, CloseReason::asked, at);
    if (!frames.bytes.empty()) {
        const WriteOutcome outcome = write(link, frames, at);
        if (!links_.was_written(link, outcome, at)) return;
    }
    links_.tell_if_drained(link, at);
    if (frames.close) links_.close_after_flush(link, CloseReason::asked, at);
}

void LinkOrders::let_held_go(const TurnTime& at) {
    if (!held_.begin_turn(at)) return;
    held_.take(let_go_, at);
    for (const ConnectionId id : let_go_) {
        Connection* link = links_.find(id);
        if (!link || link->send_side != SendSide::ready) continue;
        links_.cut_if_out_of_memory(
            *link, at, [&] { links_.was_written(*link, write_waiting(*link, links_.port_of(*link)), at); });
    }
}

WriteOutcome LinkOrders::write(Connection& link, const Frames& frames, const TurnTime& at) {
    WorkerPort& worker_port = links_.port_of(link);
    std::span<const std::byte> bytes = frames.bytes;
    if (worker_port.tls) {
        sealed_.clear();
        if (!link.tls->send(bytes, sealed_)) return WriteOutcome::broken;
        bytes = sealed_;
    }
    if (!frames.hurried && held_.hold(link, bytes, at)) return WriteOutcome::waiting;
    return write_to_link(link, worker_port, bytes);
}

// What stands behind a close is for a link that the loop has given up: nobody gets it.
LinkOrders::Frames LinkOrders::frames_for(Connection& link) {
    Frames frames;
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
                frames.close = order.action;
                return frames;
            case OutboundAction::close_after_flush:
                frames.close = order.action;
                frames.hurried = true;
                break;
            case OutboundAction::send:
                frames.hurried = true;
                [[fallthrough]];
            case OutboundAction::send_soon:
                if (frames.close || link.is_closing()) {
                    figures_.stale_replies.add();
                } else {
                    ++links_.port_of(link).frames_out;
                    add(frames.bytes, orders_.frame(order));
                }
                break;
        }
        if (i == link.last_entry) return frames;
    }
}

// Most lie side by side in the batch. The others are copied together, which is cheaper than a second system call.
void LinkOrders::add(std::span<const std::byte>& bytes, std::span<const std::byte> frame) {
    if (bytes.empty()) {
        bytes = frame;
        return;
    }
    if (bytes.data() + bytes.size() == frame.data()) {
        bytes = {bytes.data(), bytes.size() + frame.size()};
        return;
    }
    if (joined_.empty()) joined_.assign(bytes.begin(), bytes.end());
    joined_.insert(joined_.end(), frame.begin(), frame.end());
    bytes = joined_;
}

}  // namespace muster
