#include "core/link_table.h"

#include <span>

#include "base/check.h"
#include "base/planted.h"

namespace muster {
namespace {

// Generations count round: the later one is ahead by less than half of them.
constexpr bool is_newer(std::uint32_t generation, std::uint32_t than) {
    return static_cast<std::int32_t>(generation - than) > 0;
}

}  // namespace

Link* LinkTable::opened(ConnectionId id, Port port, const IpAddress& peer, std::string_view proven_name) {
    Link& link = make_slot_of(id);
    MUSTER_CHECK(!(planted(Bug::slot_reuse_aborts) && link.open), "a slot has one connection at a time");
    if (link.open || !is_newer(id.generation, link.id.generation)) return nullptr;
    link = Link{};
    link.id = id;
    link.port = port;
    link.peer = peer;
    link.open = true;
    link.proven = !proven_name.empty();
    if (link.proven) proven_names_[id.slot] = proven_name;
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
    if (link->proven) proven_names_.erase(id.slot);
    *link = Link{};
    link->id = id;
    --size_;
    return true;
}

Link* LinkTable::outlived_by(ConnectionId newer) {
    Link* link = in_slot_of(newer);
    return link && link->open && is_newer(newer.generation, link->id.generation) ? link : nullptr;
}

Link& LinkTable::make_slot_of(ConnectionId id) {
    const std::size_t worker = id.slot >> worker_shift;
    const std::size_t slot = id.slot & slot_mask;
    if (slots_.size() <= worker) slots_.resize(worker + 1);
    if (slots_[worker].size() <= slot) slots_[worker].resize(slot + 1);
    return slots_[worker][slot];
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
    output_.close(link.id);
}

void LinkTable::hold(Link& link) {
    link.closing = true;
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
