#include "nodesim/relay_owner.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "protocol/codec.h"
#include "protocol/error_texts.h"
#include "protocol/greeting.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/server_messages.h"
#include "relay/node_message.h"

namespace muster::nodesim {
namespace {

using namespace std::chrono_literals;

constexpr Duration owner_beat_every = 1s;
constexpr Duration owner_silence_max = 5s;
constexpr Duration answer_max = 800ms;

}  // namespace

void RelayOwnerSide::accept(RelayLinkNumber number, std::shared_ptr<ByteStream> stream) {
    stream->end(1).wake = [this] { wake(); };
    nodes_.emplace(NodeLinkNumber(++last_node_), Link{number, std::move(stream), agenda_.now(), agenda_.now(), {}});
    wake();
}

void RelayOwnerSide::end(bool breaks) {
    is_over_ = true;
    for (auto& [name, link] : nodes_) {
        link.stream->end(1).wake = nullptr;
        if (breaks) link.stream->break_off();
    }
}

void RelayOwnerSide::wake() {
    if (is_over_ || std::exchange(is_woken_, true)) return;
    agenda_.in(Duration(random_.between(20'000, 3'000'000)), [this] {
        is_woken_ = false;
        if (!is_over_) turn();
    });
}

void RelayOwnerSide::turn() {
    std::vector<NodeLinkNumber> names;
    names.reserve(nodes_.size());
    for (const auto& [name, link] : nodes_) names.push_back(name);
    for (const NodeLinkNumber name : names) {
        const auto found = nodes_.find(name);
        if (found == nodes_.end()) continue;  // its node has made another
        Link& link = found->second;
        read(name, link);
        hear();
        obey();
        if (link.stream->end(1).is_broken || agenda_.now() - link.heard > owner_silence_max) {
            lose(name);
            hear();
            continue;
        }
        if (link.node.empty() || agenda_.now() - link.beaten < owner_beat_every) continue;
        std::vector<std::byte> out;
        NodeWriter(out).beat();
        link.stream->send(1, out);
        link.beaten = agenda_.now();
    }
    agenda_.in(100ms, [this] { wake(); });
}

void RelayOwnerSide::read(NodeLinkNumber name, Link& link) {
    reading_ = link.number;
    auto& arrived = link.stream->end(1).arrived;
    std::span<const std::byte> rest = arrived;
    for (;;) {
        const NodeSplit message = next_node_message(rest, node_message_max);
        if (message.outcome != NodeSplit::Outcome::message) break;
        rest = rest.subspan(message.size);
        link.heard = agenda_.now();
        if (message.kind == NodeKind::hello)
            welcome(name, link, message.body);
        else if (message.kind != NodeKind::beat &&
                 !links_.heard(name, message.kind, message.body, agenda_.now(), batches_))
            judge_.object(agenda_.now(), "a relay says what no relay says");
    }
    arrived.erase(arrived.begin(), arrived.end() - static_cast<std::ptrdiff_t>(rest.size()));
}

// One link for each node: the older one is what a broken network has left.
void RelayOwnerSide::welcome(NodeLinkNumber name, Link& link, std::span<const std::byte> body) {
    const auto hello = read_node_hello(body);
    std::vector<std::byte> out;
    if (!hello || hello->term != owned_.term || hello->cell != cell_name(owned_.cell)) {
        NodeWriter(out).refused("another term, or another cell");
        return link.stream->send(1, out);
    }
    std::vector<NodeLinkNumber> older;
    for (const auto& [other, its] : nodes_)
        if (other != name && its.node == hello->node) older.push_back(other);
    for (const NodeLinkNumber other : older) lose(other);
    link.node = hello->node;
    NodeWriter(out).welcome();
    link.stream->send(1, out);
}

void RelayOwnerSide::lose(NodeLinkNumber name) {
    links_.lost(name, agenda_.now(), batches_);
    nodes_.at(name).stream->end(1).wake = nullptr;
    nodes_.at(name).stream->break_off();
    nodes_.erase(name);
}

void RelayOwnerSide::hear() {
    for (const Port port : ports) {
        InboundBatch batch;
        batch.swap(batches_[static_cast<std::size_t>(port)]);
        for (std::size_t i = 0; i < batch.size(); ++i) hear(batch, batch[i], port);
    }
}

void RelayOwnerSide::hear(const InboundBatch& batch, const InboundItem& item, Port port) {
    const ConnectionId from = item.connection;
    if (item.kind == InboundKind::opened) peers_[from] = reading_;
    if (item.kind == InboundKind::closed) peers_.erase(from);
    if (item.kind != InboundKind::frame) return;
    const auto payload = batch.payload(item);
    const ByteOrder order = default_byte_order(port);
    if (is_greeting(port, item.code)) return greet(from, item.code, payload);
    if (item.code == MatchmakerHeartbeat::code) return say(from, MatchmakerHeartbeatAck{});
    LobbyId lobby;
    if (item.code == AllocationRequest::code) lobby = decode<AllocationRequest>(payload, order)->lobby;
    if (item.code == ReadyForMatch::code) lobby = decode<ReadyForMatch>(payload, order)->lobby;
    if (item.code == CancelMatch::code) lobby = decode<CancelMatch>(payload, order)->lobby;
    if (item.code == MatchPlayers::code) lobby = decode<MatchPlayers>(payload, order)->lobby;
    const Asked asked = asked_by(lobby);
    judge_.heard(agenda_.now(), owned_.cell, peers_[from], asked);
    agenda_.in(Duration(random_.between(0, answer_max.count())), [this, from, asked] {
        if (!is_over_ && peers_.contains(from)) answer(from, asked);
    });
}

void RelayOwnerSide::greet(ConnectionId to, Code code, std::span<const std::byte> payload) {
    if (code == MatchmakerHandshake::code) {
        MatchmakerHandshakeResponse response;
        response.answer = MatchmakerHandshakeResponse::Accepted{};
        return say(to, response);
    }
    const auto hello = decode<ServerHandshake>(payload, default_byte_order(Port::servers));
    if (hello->region != RelayWork::region_of(owned_.cell))
        judge_.object(agenda_.now(), fmt::format("peer {} is greeted by another cell", hello->max_matches));
    ServerHandshakeResponse response;
    response.answer = ServerHandshakeResponse::Accepted{ServerId(hello->max_matches), {}};
    say(to, response);
}

void RelayOwnerSide::answer(ConnectionId to, Asked asked) {
    const LobbyId lobby = lobby_of(asked);
    if (RelayWork::is_for_all(asked))
        judge_.answered_for_all(owned_.cell, asked);
    else
        judge_.answered(peers_[to], asked);
    switch (RelayWork::kind_of(asked)) {
        case RelayWork::Kind::ready:
            say(to, ReadyForMatchResponse{LobbyAccepted{lobby}});
            break;
        case RelayWork::Kind::request:
            say(to, AllocationResponse{LobbyRefused{lobby, ErrorText("No servers available")}});
            break;
        case RelayWork::Kind::cancel: {
            const Reason why = work_.knows(owned_.cell, asked) ? Reason::cancelled : Reason::match_not_found;
            say(to, MatchEventNotice{lobby, MatchEventKind::aborted, ReasonText(text(why))});
            break;
        }
        case RelayWork::Kind::list:
            if (work_.refuses(owned_.cell, asked))
                say(to, MatchPlayersResponse{LobbyRefused{lobby, ErrorText("Server busy")}});
            else
                say(to, MatchPlayersResponse{LobbyAccepted{lobby}});
            break;
    }
    obey();
}

template <class M>
void RelayOwnerSide::say(ConnectionId to, const M& message) {
    std::vector<std::byte> frame;
    encode(message, default_byte_order(M::port), frame);
    std::ranges::copy(frame, orders_.add_frame(to, frame.size()));
}

void RelayOwnerSide::obey() {
    std::map<NodeLinkNumber, std::vector<std::byte>> out;
    links_.obey(orders_, [&](NodeLinkNumber name) { return nodes_.contains(name) ? &out[name] : nullptr; });
    orders_.clear();
    for (const auto& [name, bytes] : out) nodes_.at(name).stream->send(1, bytes);
}

}  // namespace muster::nodesim
