#include "nodesim/relay_side.h"

#include "nodesim/relay_work.h"
#include "protocol/frame_reader.h"
#include "relay/node_message.h"

namespace muster::nodesim {
namespace {

using namespace std::chrono_literals;

constexpr Duration retry_after = 100ms;
constexpr Duration link_beat_every = 1s;
constexpr Duration link_silence_max = 5s;
constexpr Duration longest_wait = 100ms;

// Each cell has a region. One with everything is alone.
CellRoutes routes_of(std::size_t cells, RelaySabotage sabotage) {
    std::vector<RoutedCell> routed;
    for (CellNumber cell = 0; cell < cells; ++cell) {
        const CellNumber whose = sabotage == RelaySabotage::misroutes ? cells - 1 - cell : cell;
        routed.push_back({cell_name(cell), std::vector{RelayWork::region_of(whose)}, true});
    }
    return CellRoutes(std::move(routed));
}

}  // namespace

RelaySide::RelaySide(sim::Agenda& agenda, Random random, std::string name, std::size_t cells, Peers& peers,
                     RelaySabotage sabotage)
    : agenda_(agenda),
      random_(random),
      name_(std::move(name)),
      peers_(peers),
      sabotage_(sabotage),
      relays_(routes_of(cells, sabotage), book_, *this),
      links_(cells) {
    wake();
}

void RelaySide::opened(ConnectionId peer, Port port) {
    inboxes_[static_cast<std::size_t>(port)].add_opened(peer, agenda_.now(), IpAddress::v4({10, 0, 0, 1}));
    wake();
}

void RelaySide::said(ConnectionId peer, Port port, std::span<const std::byte> frame) {
    const FrameSplit split = next_frame(frame, default_byte_order(port), frame_length_most);
    InboundBatch& inbox = inboxes_[static_cast<std::size_t>(port)];
    if (sabotage_ == RelaySabotage::loses && random_.chance(0.01)) return;
    const int times = sabotage_ == RelaySabotage::doubles && random_.chance(0.01) ? 2 : 1;
    for (int i = 0; i < times; ++i) inbox.add_frame(peer, agenda_.now(), split.code, split.payload, 0);
    wake();
}

void RelaySide::set_owner(CellNumber cell, RelayOwner owner) {
    Link& link = links_[cell];
    if (link.has_target && owner.term <= link.owner.term) return;
    lose(cell);
    link.owner = std::move(owner);
    link.has_target = true;
    wake();
}

void RelaySide::send(ConnectionId to, std::span<const std::byte> frame) {
    leaving_.push_back({to, reading_, {frame.begin(), frame.end()}});
}

// What comes until its turn is handled in one, as a poller's thread does.
void RelaySide::wake() {
    if (std::exchange(is_woken_, true)) return;
    agenda_.in(Duration(random_.between(20'000, 3'000'000)), [this] {
        is_woken_ = false;
        turn();
    });
}

void RelaySide::turn() {
    for (CellNumber cell = 0; cell < links_.size(); ++cell) {
        const Link& link = links_[cell];
        if (link.has_target && !link.stream && agenda_.now() >= link.next_try) connect(cell);
        if (link.stream) read(cell);
    }
    take_peers();
    for (CellNumber cell = 0; cell < links_.size(); ++cell) look_after(cell);
    flush();
    agenda_.in(longest_wait, [this] { wake(); });
}

void RelaySide::connect(CellNumber cell) {
    Link& link = links_[cell];
    std::tie(link.number, link.stream) = link.owner.dial(name_);
    link.heard = link.beaten = agenda_.now();
    link.stream->end(0).wake = [this] { wake(); };
    NodeHello hello;
    hello.cell = cell_name(cell);
    hello.term = link.owner.term;
    hello.node = name_;
    std::vector<std::byte> out;
    NodeWriter(out).hello(hello);
    link.stream->send(0, out);
}

void RelaySide::read(CellNumber cell) {
    Link& link = links_[cell];
    reading_ = link.number;
    ByteStream::End& end = link.stream->end(0);
    std::span<const std::byte> rest = end.arrived;
    while (link.stream) {
        const NodeSplit message = next_node_message(rest, node_answer_max);
        if (message.outcome == NodeSplit::Outcome::need_more) break;
        if (message.outcome == NodeSplit::Outcome::error) return lose(cell);
        link.heard = agenda_.now();
        rest = rest.subspan(message.size);
        if (message.kind == NodeKind::beat) continue;
        if (message.kind == NodeKind::refused) return lose(cell);
        if (message.kind == NodeKind::welcome) {
            std::vector<std::byte> out;
            relays_.owner_found(cell, out);
            NodeWriter(out).beat();
            link.stream->send(0, out);
            continue;
        }
        if (!relays_.heard(cell, message.kind, message.body)) return lose(cell);
    }
    end.arrived.erase(end.arrived.begin(), end.arrived.end() - static_cast<std::ptrdiff_t>(rest.size()));
    if (end.is_broken) lose(cell);
}

void RelaySide::take_peers() {
    for (const Port port : ports) {
        InboundBatch& inbox = inboxes_[static_cast<std::size_t>(port)];
        if (!relays_.may_take() || inbox.empty()) continue;
        InboundBatch batch;
        batch.swap(inbox);
        if (sabotage_ == RelaySabotage::swaps && batch.size() > 1) {
            InboundBatch swapped;
            for (std::size_t i = batch.size(); i-- > 0;)
                if (batch[i].kind == InboundKind::frame)
                    swapped.add_frame(batch[i].connection, batch[i].received, batch[i].code, batch.payload(batch[i]),
                                      0);
            if (swapped.size() == batch.size()) batch.swap(swapped);
        }
        std::vector<std::vector<std::byte>> out(links_.size());
        std::vector<std::vector<std::byte>*> to_owners(links_.size());
        for (CellNumber cell = 0; cell < links_.size(); ++cell)
            to_owners[cell] = relays_.has_owner(cell) ? &out[cell] : nullptr;
        relays_.take(batch, port, to_owners);
        for (CellNumber cell = 0; cell < links_.size(); ++cell)
            if (!out[cell].empty()) links_[cell].stream->send(0, out[cell]);
    }
}

void RelaySide::look_after(CellNumber cell) {
    Link& link = links_[cell];
    if (!link.stream) return;
    if (agenda_.now() - link.heard > link_silence_max) return lose(cell);
    if (!relays_.has_owner(cell) || agenda_.now() - link.beaten < link_beat_every) return;
    std::vector<std::byte> out;
    NodeWriter(out).beat();
    link.stream->send(0, out);
    link.beaten = agenda_.now();
}

void RelaySide::lose(CellNumber cell) {
    Link& link = links_[cell];
    if (link.stream) {
        link.stream->end(0).wake = nullptr;
        link.stream->break_off();
    }
    link.stream.reset();
    if (sabotage_ == RelaySabotage::forgets) relays_.discarded();
    relays_.owner_lost(cell);
    link.next_try = agenda_.now() + retry_after;
}

void RelaySide::flush() {
    for (const ToPeer& each : std::exchange(leaving_, {})) {
        if (each.frame.empty())
            peers_.closed(each.peer);
        else
            peers_.frame(each.peer, each.link, each.frame);
    }
    relays_.flushed();
}

}  // namespace muster::nodesim
