#include "sim/gateway.h"

#include <algorithm>
#include <utility>

#include "protocol/frame_reader.h"
#include "protocol/link_fault.h"

namespace muster::sim {

Gateway::Gateway(const Clock& clock, Network& network, const GatewayConditions& conditions, Random random)
    : clock_(clock), network_(network), conditions_(conditions), random_(random) {
    for (const Port port : ports) {
        inboxes_[static_cast<std::size_t>(port)] =
            std::make_unique<PortInbox>(port, PortInbox::Bounds{.items = conditions.inbox_items}, [] {});
    }
    for (int i = 0; i < conditions.workers; ++i) workers_.emplace_back(static_cast<std::size_t>(i));
}

Gateway::Socket* Gateway::find(LinkNumber link) {
    const auto found = sockets_.find(link);
    return found == sockets_.end() ? nullptr : &found->second;
}

void Gateway::arrive(LinkNumber link, What what) {
    if (const Socket* socket = find(link)) workers_[socket->worker].arrivals.push_back({what, link});
}

void Gateway::accepted(LinkNumber link, Port port, const IpAddress& peer) {
    Socket& socket = sockets_[link];
    socket.port = port;
    socket.peer = peer;
    socket.worker = static_cast<std::uint8_t>(next_worker_++ % workers_.size());
    arrive(link, What::accepted);
}

void Gateway::bytes(LinkNumber link, std::span<const std::byte> bytes) {
    Socket* socket = find(link);
    if (!socket || socket->deaf) return;
    socket->unread.insert(socket->unread.end(), bytes.begin(), bytes.end());
    if (!std::exchange(socket->listed, true)) arrive(link, What::bytes);
}

void Gateway::ended(LinkNumber link) {
    arrive(link, What::ended);
}

void Gateway::drained(LinkNumber link) {
    arrive(link, What::drained);
}

void Gateway::handshake_deadline(LinkNumber link) {
    if (const Socket* socket = find(link); socket && !socket->greeted) arrive(link, What::handshake_deadline);
}

void Gateway::frame_deadline(const Begun& begun) {
    const Socket* socket = find(begun.link);
    if (socket && !socket->deaf && socket->whole_frames == begun.whole_frames) arrive(begun.link, What::frame_deadline);
}

// Some workers come too late for this pass: the loop hears of their links later than of others'.
void Gateway::turn_without_thread() {
    for (Worker& worker : workers_) {
        if (!worker.arrivals.empty() && !random_.chance(conditions_.late)) turn(worker);
    }
}

void Gateway::catch_up() {
    for (Worker& worker : workers_) turn(worker);
}

bool Gateway::has_something() const {
    return std::any_of(workers_.begin(), workers_.end(), [](const Worker& one) { return !one.arrivals.empty(); });
}

void Gateway::turn(Worker& worker) {
    worker.handling.swap(worker.arrivals);
    std::size_t left = 0;
    for (const Arrival& arrival : worker.handling) {
        if (handle(worker, arrival)) continue;
        // Ahead of what came meanwhile.
        worker.arrivals.insert(worker.arrivals.begin() + static_cast<std::ptrdiff_t>(left++), arrival);
    }
    worker.handling.clear();
    for (const Port port : ports) {
        InboundBatch& batch = worker.batches[static_cast<std::size_t>(port)];
        if (!batch.empty()) static_cast<void>(inbox(port).publish(batch));
    }
}

// False when it is left for a later turn, since the port's inbox is full (B-1).
bool Gateway::handle(Worker& worker, const Arrival& arrival) {
    Socket* socket = find(arrival.link);
    if (!socket) return true;
    InboundBatch& batch = worker.batches[static_cast<std::size_t>(socket->port)];
    if (!inbox(socket->port).has_room(batch)) return false;
    if (arrival.what == What::accepted) {
        let_in(worker, arrival.link, *socket);
        return true;
    }
    // Of a link that was not let in yet nothing is read.
    if (socket->id.generation == 0) return false;
    switch (arrival.what) {
        case What::accepted:
            break;
        case What::bytes:
            read(batch, arrival.link, *socket);
            break;
        case What::ended:
            remove(worker, arrival.link, *socket);
            break;
        case What::drained:
            batch.add(InboundKind::drained, socket->id, clock_.now());
            break;
        case What::handshake_deadline:
            // The acceptance may be on its way from the loop: then the loop ignores it.
            batch.add(InboundKind::gave_up, socket->id, clock_.now(),
                      static_cast<std::uint8_t>(LinkFault::handshake_deadline));
            break;
        case What::frame_deadline:
            // What came just in time is read first.
            if (socket->listed || std::exchange(socket->deaf, true)) break;
            batch.add(InboundKind::gave_up, socket->id, clock_.now(),
                      static_cast<std::uint8_t>(LinkFault::frame_deadline));
            break;
    }
    return true;
}

void Gateway::let_in(Worker& worker, LinkNumber link, Socket& socket) {
    socket.id = worker.slots.next(slots_of(socket.port));
    worker.slots.take(socket.id, slots_of(socket.port));
    names_[key(socket.id)] = link;
    worker.batches[static_cast<std::size_t>(socket.port)].add_opened(socket.id, clock_.now(), socket.peer);
}

void Gateway::read(InboundBatch& batch, LinkNumber link, Socket& socket) {
    socket.listed = false;
    std::size_t used = 0;
    while (!socket.deaf) {
        const FrameSplit split = next_frame(std::span(socket.unread).subspan(used), default_byte_order(socket.port),
                                            default_length_max(socket.port));
        if (split.kind == FrameSplit::Kind::need_more) break;
        if (split.kind == FrameSplit::Kind::error) {
            batch.add(InboundKind::malformed, socket.id, clock_.now(), static_cast<std::uint8_t>(split.error));
            socket.deaf = true;
            break;
        }
        batch.add_frame(socket.id, clock_.now(), split.code, split.payload, 0);
        used += split.size;
        ++socket.whole_frames;
        socket.begun = false;
    }
    socket.unread.erase(socket.unread.begin(), socket.unread.begin() + static_cast<std::ptrdiff_t>(used));
    if (!socket.deaf && !socket.unread.empty() && !std::exchange(socket.begun, true))
        begun_.push_back({link, socket.whole_frames});
}

// Its slot is free at once, for whoever comes next: the loop may hear of them before it hears of this end.
void Gateway::remove(Worker& worker, LinkNumber link, Socket& socket) {
    worker.batches[static_cast<std::size_t>(socket.port)].add(InboundKind::closed, socket.id, clock_.now());
    worker.slots.release(socket.id, slots_of(socket.port));
    sockets_.erase(link);
}

LinkNumber Gateway::link_of(ConnectionId id) const {
    const auto found = names_.find(key(id));
    return found == names_.end() ? 0 : found->second;
}

void Gateway::greeted(LinkNumber link) {
    if (Socket* socket = find(link)) socket->greeted = true;
}

void Gateway::close(LinkNumber link) {
    Socket* socket = find(link);
    if (!socket) return;
    socket->greeted = true;
    socket->deaf = true;
    network_.close_to_peer(link);
}

// What the kernel does not take is kept, up to a limit, and beyond it the link is cut (W-7).
void Gateway::send(LinkNumber link, std::vector<std::byte> frames) {
    if (!find(link)) return;
    const bool reads = network_.reads(link);
    network_.send_to_peer(link, std::move(frames));
    if (network_.unsent(link) <= conditions_.unsent_max) return;
    ++slow_readers_;
    if (reads) cut_while_reading_ = link;
    network_.cut(link);
}

void Gateway::report_drained(LinkNumber link) {
    if (find(link)) network_.report_drained(link);
}

}  // namespace muster::sim
