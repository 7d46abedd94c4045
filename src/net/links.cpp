#include "net/links.h"

#include <utility>

namespace muster {

Links::Links(const std::vector<LinkWorker*>& workers, const std::array<ByteOrder, ports.size()>& orders,
             std::size_t waiting_max)
    : own_workers_(workers.size()), orders_(orders), waiting_max_(waiting_max) {
    workers_.resize(workers.size());
    for (std::size_t i = 0; i < workers.size(); ++i) workers_[i].worker = workers[i];
}

void Links::send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) {
    constexpr std::uint32_t not_copied = ~std::uint32_t{0};
    std::array<std::uint32_t, ConnectionTable::workers_max> copied_at;
    copied_at.fill(not_copied);
    for (const ConnectionId link : to) {
        std::uint32_t& offset = copied_at[ConnectionTable::worker_of(link)];
        OutboundBatch* batch = batch_for(link, offset == not_copied ? frame.size() : 0);
        if (!batch) continue;
        if (offset == not_copied) {
            offset = static_cast<std::uint32_t>(batch->bytes.size());
            batch->bytes.append(frame);
        }
        batch->entries.push_back({link, offset, static_cast<std::uint32_t>(frame.size()), OutboundAction::send});
    }
}

void Links::greeted(ConnectionId link) {
    order(link, OutboundAction::greeted);
}

void Links::close(ConnectionId link) {
    order(link, OutboundAction::close_after_flush);
}

void Links::cut(ConnectionId link) {
    order(link, OutboundAction::cut);
}

void Links::flush() {
    for (OfWorker& to : workers_) {
        if (to.batch.empty()) continue;
        if (!to.worker) {
            to.batch.clear();
            continue;
        }
        to.worker->outbox().put(to.batch);
        to.worker->outbox_filled();
        to.waiting = to.worker->outbox().size();
    }
}

void Links::discard() {
    for (OfWorker& to : workers_) to.batch.clear();
}

void Links::set_node_worker(LinkWorker* worker) {
    workers_.resize(own_workers_ + 1);
    workers_.back() = OfWorker{worker, {}, 0};
}

// What the worker took since the last flush leaves room again.
OutboundBatch* Links::batch_after_look(ConnectionId to, std::size_t bytes) {
    OfWorker& worker = of(to);
    worker.waiting = worker.worker ? worker.worker->outbox().size() : 0;
    if (worker.waiting + worker.filled() + bytes <= waiting_max_) return &worker.batch;
    ++overruns_;
    cut(to);
    return nullptr;
}

void Links::order(ConnectionId link, OutboundAction action) {
    of(link).batch.entries.push_back({.connection = link, .action = action});
}

}  // namespace muster
