#include "core/link_table.h"

#include <span>
#include <utility>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::uint32_t worker_shift = 24;
constexpr std::uint32_t slot_mask = (1U << worker_shift) - 1;

// Generations count round: the later one is ahead by less than half of them.
constexpr bool is_newer(std::uint32_t generation, std::uint32_t than) {
    return static_cast<std::int32_t>(generation - than) > 0;
}

}  // namespace

LinkTable::LinkTable(const LoopTime& time, LinkOutput& output, std::array<ByteOrder, 3> order, AnswerLeft answer_left)
    : time_(time), output_(output), order_(order), answer_left_(std::move(answer_left)) {}

Link* LinkTable::opened(ConnectionId id, Port port, const IpAddress& peer) {
    Link& link = make_slot_of(id);
    if (link.open || !is_newer(id.generation, link.id.generation)) return nullptr;
    link = Link{};
    link.id = id;
    link.port = port;
    link.peer = peer;
    link.open = true;
    ++size_;
    return &link;
}

bool LinkTable::closed(ConnectionId id) {
    Link* link = find(id);
    if (!link) {
        Link& slot = make_slot_of(id);
        if (!slot.open && is_newer(id.generation, slot.id.generation)) slot.id = id;
        return false;
    }
    if (link->paused) paused_.erase(id.slot);
    *link = Link{};
    link->id = id;
    --size_;
    return true;
}

Link* LinkTable::find(ConnectionId id) {
    Link* link = in_slot_of(id);
    return link && link->open && link->id == id ? link : nullptr;
}

Link* LinkTable::outlived_by(ConnectionId newer) {
    Link* link = in_slot_of(newer);
    return link && link->open && is_newer(newer.generation, link->id.generation) ? link : nullptr;
}

// Null when no connection has used the slot yet.
Link* LinkTable::in_slot_of(ConnectionId id) {
    const std::size_t worker = id.slot >> worker_shift;
    const std::size_t slot = id.slot & slot_mask;
    if (worker >= slots_.size() || slot >= slots_[worker].size()) return nullptr;
    return &slots_[worker][slot];
}

Link& LinkTable::make_slot_of(ConnectionId id) {
    const std::size_t worker = id.slot >> worker_shift;
    const std::size_t slot = id.slot & slot_mask;
    if (slots_.size() <= worker) slots_.resize(worker + 1);
    if (slots_[worker].size() <= slot) slots_[worker].resize(slot + 1);
    return slots_[worker][slot];
}

Ticket LinkTable::take_ticket(Link& link) {
    if (is_inside(link.id)) return Ticket{link.id, 0, time_.now()};
    const Ticket ticket{link.id, link.next_ticket++, time_.now()};
    if (!link.waiting) link.waiting = std::make_unique<std::deque<Link::Waiting>>();
    link.waiting->emplace_back();
    return ticket;
}

void LinkTable::fill(Link& link, const Ticket& ticket, LobbyId lobby) {
    if (is_inside(link.id)) return send_scratch(link, lobby);
    MUSTER_CHECK(link.waiting && !link.waiting->empty(), "a ticket is answered once");
    const auto first = link.next_ticket - static_cast<std::uint32_t>(link.waiting->size());
    const std::uint32_t place_number = ticket.number - first;
    MUSTER_CHECK(place_number < link.waiting->size(), "a ticket is answered once");
    if (place_number == 0) {
        link.waiting->pop_front();
        send_scratch(link, lobby);
        release(link);
        return;
    }
    Link::Waiting& place = (*link.waiting)[place_number];
    MUSTER_CHECK(!place.filled, "a ticket is answered once");
    place.filled = true;
    place.lobby = lobby;
    place.frame = scratch_;
}

void LinkTable::send_scratch(Link& link, LobbyId lobby) {
    output_.send(link.id, scratch_);
    if (lobby.value != 0) answer_left_(lobby, true);
}

// Lets go what only waited for the one before it.
void LinkTable::release(Link& link) {
    const ConnectionId id = link.id;
    while (Link* still = find(id)) {
        if (still->closing || still->waiting->empty() || !still->waiting->front().filled) return;
        Link::Waiting next = std::move(still->waiting->front());
        still->waiting->pop_front();
        const bool in_time = time_.now() <= next.good_until;
        output_.send(id, in_time ? next.frame : next.otherwise);
        if (next.lobby.value != 0) answer_left_(next.lobby, in_time);
    }
}

// Null when the answer has left, or its link is gone.
Link::Waiting* LinkTable::still_waiting(const Ticket& ticket) {
    Link* link = find(ticket.link);
    if (!link || !link->waiting) return nullptr;
    const auto first = link->next_ticket - static_cast<std::uint32_t>(link->waiting->size());
    const std::uint32_t place = ticket.number - first;
    return place < link->waiting->size() ? &(*link->waiting)[place] : nullptr;
}

void LinkTable::pause(Link& link, Time running) {
    link.paused = true;
    paused_.insert_or_assign(link.id.slot, running);
}

Time LinkTable::resume(Link& link) {
    const auto paused = paused_.extract(link.id.slot);
    MUSTER_CHECK(!paused.empty(), "a link that is resumed was paused");
    link.paused = false;
    return paused.mapped();
}

void LinkTable::greeted(Link& link) {
    link.greeted = true;
    output_.greeted(link.id);
}

void LinkTable::close(Link& link) {
    if (link.closing) return;
    link.closing = true;
    link.waiting.reset();
    output_.close(link.id);
}

void LinkTable::hold(Link& link) {
    link.closing = true;
    link.waiting.reset();
}

void LinkTable::close_held(ConnectionId id, std::span<const std::byte> frame) {
    if (!find(id)) return;
    output_.send(id, frame);
    output_.close(id);
}

void LinkTable::close_with(Link& link, std::span<const std::byte> frame) {
    if (link.closing) return;
    output_.send(link.id, frame);
    close(link);
}

}  // namespace muster
