#include "nodesim/relay_side.h"

#include "protocol/frame_reader.h"
#include "relay/node_message.h"

namespace muster::nodesim {
namespace {

using namespace std::chrono_literals;

constexpr Duration retry_after = 100ms;
constexpr Duration link_beat_every = 1s;
constexpr Duration link_silence_max = 5s;
constexpr Duration longest_wait = 100ms;

}  // namespace

RelaySide::RelaySide(sim::Agenda& agenda, Random random, std::string name, Peers& peers, RelaySabotage sabotage)
    : agenda_(agenda),
      random_(random),
      name_(std::move(name)),
      peers_(peers),
      sabotage_(sabotage),
      relay_(book_, *this) {
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

void RelaySide::set_owner(RelayOwner owner) {
    if (has_target_ && owner.term <= owner_.term) return;
    lose();
    owner_ = std::move(owner);
    has_target_ = true;
    wake();
}

void RelaySide::send(ConnectionId to, std::span<const std::byte> frame) {
    leaving_.push_back({to, {frame.begin(), frame.end()}});
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
    if (has_target_ && !stream_ && agenda_.now() >= next_try_) connect();
    if (stream_) read();
    take_peers();
    look_after();
    flush();
    agenda_.in(longest_wait, [this] { wake(); });
}

void RelaySide::connect() {
    std::tie(link_, stream_) = owner_.dial(name_);
    heard_ = beaten_ = agenda_.now();
    stream_->end(0).wake = [this] { wake(); };
    NodeHello hello;
    hello.cell = "main";
    hello.term = owner_.term;
    hello.node = name_;
    std::vector<std::byte> out;
    NodeWriter(out).hello(hello);
    stream_->send(0, out);
}

void RelaySide::read() {
    ByteStream::End& end = stream_->end(0);
    std::span<const std::byte> rest = end.arrived;
    while (stream_) {
        const NodeSplit message = next_node_message(rest, node_answer_max);
        if (message.outcome == NodeSplit::Outcome::need_more) break;
        if (message.outcome == NodeSplit::Outcome::error) return lose();
        heard_ = agenda_.now();
        rest = rest.subspan(message.size);
        if (message.kind == NodeKind::beat) continue;
        if (message.kind == NodeKind::refused) return lose();
        if (message.kind == NodeKind::welcome) {
            std::vector<std::byte> out;
            relay_.owner_found(out);
            NodeWriter(out).beat();
            stream_->send(0, out);
            continue;
        }
        if (!relay_.heard(message.kind, message.body)) return lose();
    }
    end.arrived.erase(end.arrived.begin(), end.arrived.end() - static_cast<std::ptrdiff_t>(rest.size()));
    if (end.is_broken) lose();
}

void RelaySide::take_peers() {
    for (const Port port : ports) {
        InboundBatch& inbox = inboxes_[static_cast<std::size_t>(port)];
        if (!relay_.has_owner() || inbox.empty()) continue;
        std::vector<std::byte> out;
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
        relay_.take(batch, port, out);
        stream_->send(0, out);
    }
}

void RelaySide::look_after() {
    if (!stream_) return;
    if (agenda_.now() - heard_ > link_silence_max) return lose();
    if (!relay_.has_owner() || agenda_.now() - beaten_ < link_beat_every) return;
    std::vector<std::byte> out;
    NodeWriter(out).beat();
    stream_->send(0, out);
    beaten_ = agenda_.now();
}

void RelaySide::lose() {
    if (stream_) {
        stream_->end(0).wake = nullptr;
        stream_->break_off();
    }
    stream_.reset();
    if (sabotage_ == RelaySabotage::forgets) book_.discarded();
    if (relay_.has_owner()) relay_.owner_lost();
    next_try_ = agenda_.now() + retry_after;
}

void RelaySide::flush() {
    for (const ToPeer& each : std::exchange(leaving_, {})) {
        if (each.frame.empty())
            peers_.closed(each.peer);
        else
            peers_.frame(each.peer, link_, each.frame);
    }
    book_.flushed();
}

}  // namespace muster::nodesim
