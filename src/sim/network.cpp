#include "sim/network.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocol/frame_reader.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

// Muster's frames to a peer are its own: no limit but the wire's.
constexpr std::uint16_t length_most = 65535;

}  // namespace

LinkNumber Network::connect(Peer& peer, Port port, const IpAddress& ip) {
    Link& link = links_.append();
    link.peer = &peer;
    link.port = port;
    link.ip = ip;
    link.latency = Duration(random_.between(conditions_.latency_min.count(), conditions_.latency_max.count()));
    const auto number = static_cast<LinkNumber>(links_.size());
    live_.push_back(number);
    agenda_.at(next_arrival(link, link.to_muster), [this, number, reset = link.to_muster.reset] {
        Link& opened = at(number);
        if (reset != opened.to_muster.reset || !opened.peer_open) {
            opened.connecting = false;
            return;
        }
        opened.connecting = false;
        if (listener_ && listener_->accept(number, opened.port, opened.ip)) {
            opened.muster_open = true;
        } else {
            end_at_peer(number, agenda_.now() + opened.latency);
        }
    });
    return number;
}

void Network::send(LinkNumber link, std::vector<std::byte> bytes) {
    if (at(link).peer_open) put_on_lane(link, true, std::move(bytes));
}

void Network::send_to_peer(LinkNumber link, std::vector<std::byte> bytes) {
    if (at(link).muster_open) put_on_lane(link, false, std::move(bytes));
}

void Network::put_on_lane(LinkNumber number, bool to_muster, std::vector<std::byte> bytes) {
    Link& link = at(number);
    Lane& lane = to_muster ? link.to_muster : link.to_peer;
    if (!to_muster) link.to_peer_bytes += bytes.size();
    if (lane.lost) return;
    while (bytes.size() > 1 && random_.chance(conditions_.pieces)) {
        const auto cut = static_cast<std::ptrdiff_t>(random_.between(1, static_cast<std::int64_t>(bytes.size()) - 1));
        std::vector<std::byte> piece(bytes.begin(), bytes.begin() + cut);
        bytes.erase(bytes.begin(), bytes.begin() + cut);
        agenda_.at(next_arrival(link, lane), [this, number, to_muster, reset = lane.reset, part = std::move(piece)] {
            deliver(number, to_muster, reset, part);
        });
    }
    agenda_.at(next_arrival(link, lane), [this, number, to_muster, reset = lane.reset, all = std::move(bytes)] {
        deliver(number, to_muster, reset, all);
    });
}

void Network::deliver(LinkNumber number, bool to_muster, std::uint32_t reset, const std::vector<std::byte>& bytes) {
    Link& link = at(number);
    const Lane& lane = to_muster ? link.to_muster : link.to_peer;
    if (lane.reset != reset) return;
    if (to_muster) {
        if (link.muster_open && listener_) listener_->bytes(number, bytes);
        return;
    }
    link.to_peer_bytes -= bytes.size();
    tell_if_drained(number);
    if (!link.peer_open) return;
    if (link.arrived.empty()) {
        const std::size_t used = deliver_frames(number, bytes);
        link.arrived.assign(bytes.begin() + static_cast<std::ptrdiff_t>(used), bytes.end());
        return;
    }
    std::vector<std::byte> all = std::move(link.arrived);
    all.insert(all.end(), bytes.begin(), bytes.end());
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(deliver_frames(number, all)));
    link.arrived = std::move(all);
}

std::size_t Network::unsent(LinkNumber link) const {
    return at(link).to_peer_bytes - std::min(at(link).to_peer_bytes, conditions_.kernel_bytes);
}

bool Network::reads(LinkNumber number) const {
    const Link& link = at(number);
    return link.peer_open && !link.to_peer.lost &&
           std::max(link.to_peer.arrives, link.reads_from) <= agenda_.now() + 1s;
}

void Network::report_drained(LinkNumber link) {
    at(link).tell_drained = true;
    tell_if_drained(link);
}

void Network::tell_if_drained(LinkNumber number) {
    Link& link = at(number);
    if (!link.tell_drained || !link.muster_open || unsent(number) > 0) return;
    link.tell_drained = false;
    if (listener_) listener_->drained(number);
}

// How many of the bytes were whole frames.
std::size_t Network::deliver_frames(LinkNumber number, std::span<const std::byte> bytes) {
    const Link& link = at(number);
    std::size_t used = 0;
    while (link.peer_open) {
        const FrameSplit split = next_frame(bytes.subspan(used), default_byte_order(link.port), length_most);
        if (split.kind != FrameSplit::Kind::frame) break;
        used += split.size;
        link.peer->frame(number, split.code, split.payload);
    }
    return used;
}

Time Network::next_arrival(const Link& link, Lane& lane) {
    lane.arrives = std::max(lane.arrives, agenda_.now() + delay(link));
    if (&lane == &link.to_peer) lane.arrives = std::max(lane.arrives, link.reads_from);
    return lane.arrives;
}

Duration Network::delay(const Link& link) {
    const Duration jitter(random_.between(0, link.latency.count() / 2));
    if (!random_.chance(conditions_.stall)) return link.latency + jitter;
    return link.latency + Duration(random_.between(0, conditions_.stall_max.count()));
}

void Network::close(LinkNumber number) {
    Link& link = at(number);
    if (!link.peer_open) return;
    link.peer_open = false;
    if (link.to_muster.lost)
        return find_dead(number, Duration(random_.between(Duration(45s).count(), Duration(75s).count())));
    end_at_muster(number, next_arrival(link, link.to_muster));
}

void Network::abandon(LinkNumber number) {
    Link& link = at(number);
    if (!link.peer_open) return;
    link.peer_open = false;
    find_dead(number, Duration(random_.between(Duration(45s).count(), Duration(75s).count())));
}

void Network::close_to_peer(LinkNumber number) {
    Link& link = at(number);
    if (!link.muster_open) return;
    const Time arrival = next_arrival(link, link.to_peer);
    if (!link.to_peer.lost) end_at_peer(number, arrival);
    // The peer's own end comes back, or Muster stops waiting for it.
    end_at_muster(number, std::min(arrival + link.latency, agenda_.now() + 1s));
}

void Network::drop_all(Gone gone) {
    for (const LinkNumber number : live()) {
        Link& link = at(number);
        const bool was_open = link.muster_open;
        link.muster_open = false;
        link.to_peer_bytes = 0;
        ++link.to_muster.reset;
        ++link.to_peer.reset;
        if (!link.peer_open) continue;
        // A machine that lost its power sends no reset: the peer finds out by itself.
        const bool silent = gone == Gone::maybe_power && was_open && random_.chance(0.1);
        if (silent) {
            find_dead(number, Duration(random_.between(Duration(20s).count(), Duration(60s).count())));
        } else {
            end_at_peer(number, agenda_.now() + link.latency);
        }
    }
}

void Network::reset(LinkNumber number) {
    Link& link = at(number);
    link.to_peer_bytes = 0;
    ++link.to_muster.reset;
    ++link.to_peer.reset;
    end_at_muster(number, agenda_.now() + delay(link));
    end_at_peer(number, agenda_.now() + delay(link));
}

void Network::cut(LinkNumber number) {
    Link& link = at(number);
    link.to_peer_bytes = 0;
    ++link.to_muster.reset;
    ++link.to_peer.reset;
    end_at_muster(number, agenda_.now());
    end_at_peer(number, agenda_.now() + link.latency);
}

void Network::stop_reading(LinkNumber number, Duration by) {
    at(number).reads_from = agenda_.now() + by;
}

void Network::lose(LinkNumber number, Way way) {
    Link& link = at(number);
    if (way != Way::both) ++lost_one_way_;
    if (way != Way::to_peer) link.to_muster.lost = true;
    if (way != Way::to_muster) link.to_peer.lost = true;
    find_dead(number, Duration(random_.between(Duration(45s).count(), Duration(120s).count())));
}

void Network::heal() {
    for (const LinkNumber number : live()) {
        const Link& link = at(number);
        const bool half_open = link.to_muster.lost || link.to_peer.lost || link.peer_open != link.muster_open;
        if (half_open) find_dead(number, Duration(random_.between(0, Duration(3s).count())));
    }
}

bool Network::open(LinkNumber link) const {
    return link != 0 && at(link).peer_open && at(link).muster_open;
}

std::vector<LinkNumber> Network::open_links() {
    std::vector<LinkNumber> found;
    std::ranges::copy_if(live(), std::back_inserter(found), [this](LinkNumber number) { return open(number); });
    return found;
}

const std::vector<LinkNumber>& Network::live() {
    std::erase_if(live_, [this](LinkNumber number) { return at(number).over(); });
    return live_;
}

void Network::end_at_muster(LinkNumber number, Time when) {
    agenda_.at(when, [this, number] {
        Link& link = at(number);
        if (!std::exchange(link.muster_open, false)) return;
        if (listener_) listener_->ended(number);
    });
}

void Network::end_at_peer(LinkNumber number, Time when) {
    agenda_.at(when, [this, number] {
        Link& link = at(number);
        if (!std::exchange(link.peer_open, false)) return;
        link.peer->link_down(number);
    });
}

void Network::find_dead(LinkNumber number, Duration after) {
    end_at_muster(number, agenda_.now() + after);
    end_at_peer(number, agenda_.now() + after);
}

}  // namespace muster::sim
