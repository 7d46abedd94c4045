// How the game thread reaches connections: it sends frames and gives orders, which the workers carry out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "net/connection_table.h"
#include "net/link_worker.h"
#include "net/outbox.h"
#include "protocol/codec.h"
#include "protocol/link_output.h"
#include "protocol/message.h"
#include "protocol/port.h"

namespace muster {

// Game thread only. The workers outlive it.
//
// Nothing leaves before flush(), which belongs at the end of a pass: each worker then gets all of it at once. Whatever
// is for one connection arrives in the order it was given here. For a connection that is gone it has no effect.
class Links final : public LinkOutput {
public:
    static constexpr std::size_t default_waiting_max = std::size_t{256} << 20;

    // `waiting_max` bytes may wait for one worker; a connection that needs more is cut instead, for then its worker
    // does not keep up (invariant 18).
    Links(const std::vector<LinkWorker*>& workers, const std::array<ByteOrder, ports.size()>& orders,
          std::size_t waiting_max = default_waiting_max);

    // Encodes the message in the byte order of its port, straight into what the worker will send.
    template <Message M>
    void send(ConnectionId to, const M& message) {
        const std::size_t size = encoded_size(message);
        if (OutboundBatch* batch = batch_for(to, size))
            encode_to(message, order_of(M::port), {batch->add_frame(to, size), size});
    }

    // A whole frame: length, code, payload.
    void send(ConnectionId to, std::span<const std::byte> frame) override {
        OutboundBatch* batch = batch_for(to, frame.size());
        if (batch) std::memcpy(batch->add_frame(to, frame.size()), frame.data(), frame.size());
    }
    // Another node says it on at once.
    void send_soon(ConnectionId to, std::span<const std::byte> frame) override {
        OutboundBatch* batch = batch_for(to, frame.size());
        if (!batch) return;
        const bool is_ours = ConnectionTable::worker_of(to) < own_workers_;
        const auto action = is_ours ? OutboundAction::send_soon : OutboundAction::send;
        std::memcpy(batch->add_frame(to, frame.size(), action), frame.data(), frame.size());
    }

    // One frame for many. It is copied once for each worker, however many connections there are.
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) override;
    template <Message M>
    void send_to_all(std::span<const ConnectionId> to, const M& message) {
        encoded_.clear();
        encode(message, order_of(M::port), encoded_);
        send_to_all(to, encoded_);
    }

    // The handshake was accepted: its deadline is over, even if it was missed meanwhile.
    void greeted(ConnectionId link) override;

    // LinkEvents::drained() is called once, when all that was given before has left this process.
    void report_drained(ConnectionId link) override { order(link, OutboundAction::report_drained); }

    // Sends what was given before, for at most a second, then closes. Nothing given afterwards is sent, and no frame is
    // read any more; those in the inbox already still come.
    void close(ConnectionId link) override;

    // Closes at once.
    void cut(ConnectionId link);

    // Hands everything to the workers: they send it, now if they have no thread of their own.
    void flush();
    // Forgets what was not flushed: who gave it may not say it any more.
    void discard();

    // One more worker, whose links have the number after the others'. Null: nobody serves those links any more, and
    // what is for them is dropped.
    void set_node_worker(LinkWorker* worker);

    ByteOrder order_of(Port port) const { return orders_[static_cast<std::size_t>(port)]; }
    // Connections cut because too much waited for their worker.
    std::uint64_t overruns() const { return overruns_; }

private:
    struct OfWorker {
        LinkWorker* worker = nullptr;  // null: nobody serves its links
        OutboundBatch batch;
        std::size_t waiting = 0;  // in its outbox at the last flush

        std::size_t filled() const { return batch.bytes.size() + batch.entries.size() * sizeof(OutboundEntry); }
    };

    OfWorker& of(ConnectionId link) {
        const std::size_t worker = ConnectionTable::worker_of(link);
        MUSTER_CHECK(worker < workers_.size() && link.generation != 0, "a connection's id came from its worker");
        return workers_[worker];
    }
    // Null, and the connection is cut, when too much waits for its worker.
    OutboundBatch* batch_for(ConnectionId to, std::size_t bytes) {
        OfWorker& worker = of(to);
        return worker.waiting + worker.filled() + bytes <= waiting_max_ ? &worker.batch : batch_after_look(to, bytes);
    }
    OutboundBatch* batch_after_look(ConnectionId to, std::size_t bytes);
    void order(ConnectionId link, OutboundAction action);

    std::vector<OfWorker> workers_;
    const std::size_t own_workers_;
    const std::array<ByteOrder, ports.size()> orders_;
    const std::size_t waiting_max_;
    std::vector<std::byte> encoded_;
    std::uint64_t overruns_ = 0;
};

}  // namespace muster
