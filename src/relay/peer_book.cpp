#include "relay/peer_book.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "protocol/codec.h"
#include "protocol/error_texts.h"
#include "protocol/greeting.h"
#include "protocol/host_messages.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/server_messages.h"
#include "protocol/wire_bytes.h"

namespace muster {
namespace {

// A request, its answer, and the bytes of both by which they find each other: as they stand on the wire, so the byte
// order does not matter. A key of no bytes: the first request of its kind is answered first.
struct Asked {
    Port port;
    Code request;
    Code answer;
    std::uint8_t key_in = 0;
    std::uint8_t key_out = 0;
    std::uint8_t key_size = 0;
};
constexpr std::uint8_t ids = sizeof(std::int32_t);
constexpr std::uint8_t behind_success = 1;
constexpr std::array asked_of{
    Asked{Port::servers, ServerHeartbeat::code, ServerHeartbeatAck::code},
    Asked{Port::servers, ReadyForMatch::code, ReadyForMatchResponse::code, ids, behind_success, ids},
    Asked{Port::servers, ValidateToken::code, ValidateTokenResponse::code, ids, behind_success, 2 * ids},
    Asked{Port::servers, MatchStartedReport::code, MatchResponse::code, ids, behind_success, ids},
    Asked{Port::servers, MatchEndedReport::code, MatchResponse::code, ids, behind_success, ids},
    Asked{Port::servers, SetDraining::code, ServerStatusNotice::code, 0, 0, ids},
    Asked{Port::matchmakers, AllocationRequest::code, AllocationResponse::code, 0, behind_success, ids},
    Asked{Port::matchmakers, MatchmakerHeartbeat::code, MatchmakerHeartbeatAck::code},
    Asked{Port::matchmakers, CancelMatch::code, MatchEventNotice::code, 0, 0, ids},
    Asked{Port::matchmakers, MatchPlayers::code, MatchPlayersResponse::code, 0, behind_success, ids},
    Asked{Port::players, PingRequest::code, PingReply::code},
    Asked{Port::players, ClockSync::code, ClockSyncReply::code, 0, 0, 8},
};

std::uint64_t key_at(std::span<const std::byte> payload, std::size_t at, std::size_t size) {
    std::uint64_t key = 0;
    if (size > 0 && at + size <= payload.size()) std::memcpy(&key, payload.data() + at, size);
    return key;
}

// Of a cancelled lobby only this event is the answer.
constexpr std::size_t event_at = ids;
constexpr std::byte event_aborted{4};

}  // namespace

PeerBook::Peer* PeerBook::find(ConnectionId id) {
    const auto found = peers_.find(id);
    return found == peers_.end() ? nullptr : &found->second;
}

void PeerBook::opened(ConnectionId id, Port port, const IpAddress& address, std::string_view name) {
    closed(id);
    Peer& peer = peers_[id];
    peer.id = id;
    peer.port = port;
    peer.address = address;
    peer.name = name;
    peer.number = ++opened_;
}

void PeerBook::closed(ConnectionId id) {
    const auto found = peers_.find(id);
    if (found == peers_.end()) return;
    unanswered_ -= found->second.unanswered.size();
    peers_.erase(found);
}

void PeerBook::heard(Peer& peer, Code code, std::span<const std::byte> payload) {
    if (peer.is_ending) return;
    if (is_greeting(peer.port, code)) {
        const bool is_known = peer.state == Peer::State::greeted || peer.state == Peer::State::returning;
        if (is_known) return;
        peer.hello = {code, {payload.begin(), payload.end()}};
        peer.state = Peer::State::asking;
        // What a host has is told once, behind its hello.
        peer.needs_more = code == HostHello::code;
        return;
    }
    if (peer.state == Peer::State::fresh || peer.unanswered.size() >= unanswered_max) return;
    const auto rule = std::ranges::find_if(
        asked_of, [&](const Asked& asked) { return asked.port == peer.port && asked.request == code; });
    if (rule == asked_of.end()) return;
    peer.unanswered.push_back(
        {code, rule->answer, key_at(payload, rule->key_in, rule->key_size), {payload.begin(), payload.end()}});
    ++unanswered_;
}

PeerBook::Passing PeerBook::told(Peer& peer, std::span<const std::byte> frame, ByteOrder order) {
    if (frame.size() < frame_head_size) return Passing::pass;
    const std::byte* code_at = frame.data() + sizeof(std::uint16_t);
    const Code code = order == ByteOrder::little ? wire::get<ByteOrder::little, Code>(code_at)
                                                 : wire::get<ByteOrder::big, Code>(code_at);
    const auto payload = frame.subspan(frame_head_size);
    if (is_greeting_answer(peer.port, code)) {
        const bool accepted = !payload.empty() && payload.front() == std::byte{1};
        const bool has_identity = peer.port != Port::matchmakers && code != HostWelcome::code;
        const auto identity =
            has_identity ? static_cast<std::uint32_t>(key_at(payload, behind_success, ids)) : std::uint32_t{0};
        if (peer.state != Peer::State::returning) {
            if (accepted) said_.push_back({peer.id, code, true, identity, 0});
            return Passing::pass;
        }
        if (!accepted || identity != peer.identity) return Passing::close;
        peer.state = Peer::State::greeted;
        return Passing::swallow;
    }
    for (const Asked& asked : asked_of) {
        if (asked.port != peer.port || asked.answer != code) continue;
        if (code == MatchEventNotice::code && (payload.size() <= event_at || payload[event_at] != event_aborted)) break;
        const bool amends = code == ValidateTokenResponse::code && is_doubtful(peer, payload, order);
        said_.push_back({peer.id, code, false, 0, key_at(payload, asked.key_out, asked.key_size)});
        return amends ? Passing::amend : Passing::pass;
    }
    return Passing::pass;
}

// Whether a refused token may have been used by this very request, asked of the owner before. Then amended_ says so.
bool PeerBook::is_doubtful(const Peer& peer, std::span<const std::byte> payload, ByteOrder order) {
    const auto response = decode<ValidateTokenResponse>(payload, order);
    const auto* refused = response ? std::get_if<ValidateTokenResponse::Refused>(&response->answer) : nullptr;
    if (!refused || refused->error.view() != text(Refusal::match_token_already_used)) return false;
    const Peer::Request* request =
        answered_by(peer, ValidateTokenResponse::code, key_at(payload, behind_success, 2 * ids));
    if (!request || !request->is_repeated) return false;
    amended_.clear();
    encode(ValidateTokenResponse{ValidateTokenResponse::Refused{refused->lobby, refused->account,
                                                                ErrorText(text(Refusal::store_unavailable))}},
           order, amended_);
    return true;
}

const PeerBook::Peer::Request* PeerBook::answered_by(const Peer& peer, Code code, std::uint64_t key) const {
    auto before = std::ranges::count_if(
        said_, [&](const Said& said) { return said.to == peer.id && said.code == code && said.key == key; });
    for (const Peer::Request& request : peer.unanswered)
        if (request.answer == code && request.key == key && before-- == 0) return &request;
    return nullptr;
}

void PeerBook::flushed() {
    for (const Said& said : said_) note(said);
    said_.clear();
}

void PeerBook::note(const Said& said) {
    Peer* peer = find(said.to);
    if (!peer) return;
    if (said.is_greeting) {
        if (peer->state == Peer::State::asking) peer->state = Peer::State::greeted;
        peer->identity = said.identity;
        return;
    }
    const auto answered = std::ranges::find_if(peer->unanswered, [&](const Peer::Request& request) {
        return request.answer == said.code && request.key == said.key;
    });
    if (answered == peer->unanswered.end()) return;
    peer->unanswered.erase(answered);
    --unanswered_;
}

std::vector<PeerBook::Peer*> PeerBook::to_tell() {
    std::vector<Peer*> peers;
    for (auto& [id, peer] : peers_)
        if (!peer.is_ending) peers.push_back(&peer);
    std::ranges::sort(peers, {}, [](const Peer* peer) { return peer->number; });
    return peers;
}

}  // namespace muster
