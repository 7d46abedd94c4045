// The way of other nodes' peers to the loop of one cell that this node owns, and back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/link_worker.h"
#include "net/network.h"
#include "net/poller.h"
#include "relay/relayed_links.h"

namespace muster {

struct CellDoorOptions {
    std::string cell = "main";
    std::int64_t term = 0;
    std::uint32_t generation_before = 0;  // see RelayedLinks
};

// To the loop it is one more worker of its network. The thread of the node port's, unless a line says otherwise; what
// it is given outlives it.
class CellDoor final : public LinkWorker {
public:
    // A question of another node's HTTP port; `answer` may be called on any thread, once.
    using Answer = std::function<void(std::string)>;
    using OnQuestion = std::function<void(std::string question, Answer answer)>;
    struct Parts {
        Network& network;
        Waiter& loop;
        OnQuestion on_question;
    };

    CellDoor(Poller& poller, CellDoorOptions options, Parts parts)
        : poller_(poller),
          options_(std::move(options)),
          parts_(std::move(parts)),
          relayed_(parts_.network.node_worker_number(), options_.generation_before) {}

    const CellDoorOptions& options() const { return options_; }
    void ask(std::string question, Answer answer) const { parts_.on_question(std::move(question), std::move(answer)); }

    // A full inbox: what nodes say waits in the kernel, and then at the nodes (B-1).
    bool may_read() const {
        for (const Port port : ports)
            if (!parts_.network.inbox(port).has_room(batches_[static_cast<std::size_t>(port)])) return false;
        return true;
    }
    // As RelayedLinks.
    [[nodiscard]] bool heard(NodeLinkNumber from, NodeKind kind, std::span<const std::byte> body, Time now) {
        return relayed_.heard(from, kind, body, now, batches_);
    }
    void lost(NodeLinkNumber link, Time now) { relayed_.lost(link, now, batches_); }
    std::uint32_t generation() const { return relayed_.generation(); }

    // Appends what the loop has for the peers to what each node is to be sent, as RelayedLinks.
    template <class Out>
    void obey_loop(Out out) {
        if (!outbox_.take(orders_)) return;
        relayed_.obey(orders_, out);
        orders_.clear();
    }
    // Hands over what was heard. `told`: nodes that have told of all the peers that they had when they came.
    void tell_loop(std::size_t told) {
        relayed_count_.store(relayed_.size(), std::memory_order_relaxed);
        bool has_news = false;
        for (const Port port : ports) {
            InboundBatch& batch = batches_[static_cast<std::size_t>(port)];
            if (batch.empty()) continue;
            static_cast<void>(parts_.network.inbox(port).publish(batch));
            has_news = true;
        }
        told_count_.store(told, std::memory_order_release);
        if (has_news) parts_.loop.notify();
    }

    // The loop's thread puts, then wakes.
    Outbox& outbox() override { return outbox_; }
    void wake() override { poller_.wake(); }

    // Any thread: peers of other nodes, and how many nodes have told of all theirs.
    std::size_t relayed() const { return relayed_count_.load(std::memory_order_relaxed); }
    std::size_t told() const { return told_count_.load(std::memory_order_acquire); }

private:
    Poller& poller_;
    const CellDoorOptions options_;
    const Parts parts_;
    RelayedLinks relayed_;
    RelayedLinks::Batches batches_;
    OutboundBatch orders_;

    // Any thread.
    Outbox outbox_;
    std::atomic<std::size_t> relayed_count_{0};
    std::atomic<std::size_t> told_count_{0};
};

}  // namespace muster
