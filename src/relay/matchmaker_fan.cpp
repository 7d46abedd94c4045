#include "relay/matchmaker_fan.h"

#include <algorithm>

#include "protocol/codec.h"
#include "protocol/error_texts.h"
#include "protocol/wire_bytes.h"

namespace muster {
namespace {

Code code_of(std::span<const std::byte> frame, ByteOrder order) {
    const std::byte* at = frame.data() + sizeof(std::uint16_t);
    return order == ByteOrder::little ? wire::get<ByteOrder::little, Code>(at) : wire::get<ByteOrder::big, Code>(at);
}

}  // namespace

MatchmakerHandshakeResponse::Accepted merged(MatchmakerHandshakeResponse::Accepted first,
                                             const MatchmakerHandshakeResponse::Accepted& second) {
    first.time = std::max(first.time, second.time);
    auto& servers = first.servers.items;
    servers.insert(servers.end(), second.servers.items.begin(), second.servers.items.end());
    std::ranges::sort(servers, {}, [](const AvailableServer& server) { return server.server.value; });
    std::size_t size = encoded_size(MatchmakerHandshakeResponse{first});
    for (; size > sizeof(std::uint16_t) + frame_length_max; servers.pop_back()) size -= payload_size(servers.back());
    return first;
}

MatchmakerFan::Cells MatchmakerFan::all() const {
    Cells cells = 0;
    for (const CellNumber cell : routes_.with_regions()) cells |= bit(cell);
    return cells;
}

bool MatchmakerFan::asked_all(ConnectionId id, Code code, std::span<const std::byte> payload) {
    const auto found = matchmakers_.find(id);
    if (found == matchmakers_.end()) return true;
    Matchmaker& matchmaker = found->second;
    if (code == MatchmakerHandshake::code) return !std::exchange(matchmaker.is_asking, true);
    Key key;
    if (code == CancelMatch::code) {
        const auto cancel = decode<CancelMatch>(payload, order());
        if (cancel) key = {MatchEventNotice::code, cancel->lobby};
    } else if (code == MatchPlayers::code) {
        const auto list = decode<MatchPlayers>(payload, order());
        if (list) key = {MatchPlayersResponse::code, list->lobby};
    }
    // Before the handshake each cell refuses it.
    if (key.answer == 0 || !matchmaker.is_asking) return true;
    if (++matchmaker.waiting_count > waiting_max) peers_.close(id);
    matchmaker.waiting[key].push_back({all(), false});
    return true;
}

void MatchmakerFan::send(CellNumber from, ConnectionId to, std::span<const std::byte> frame) {
    const auto found = matchmakers_.find(to);
    if (found == matchmakers_.end() || frame.size() < frame_head_size) return;
    Matchmaker& matchmaker = found->second;
    const auto payload = frame.subspan(frame_head_size);
    switch (code_of(frame, order())) {
        case MatchmakerHandshakeResponse::code:
            return handshake_answered(from, to, matchmaker, frame);
        case MatchmakerHeartbeatAck::code:
            // Each cell acknowledges all heartbeats, in their order.
            if (++matchmaker.acknowledged_by[from] <= matchmaker.acknowledged) return;
            ++matchmaker.acknowledged;
            return pass(to, matchmaker, frame);
        case MatchPlayersResponse::code: {
            const auto response = decode<MatchPlayersResponse>(payload, order());
            if (!response) break;
            const auto* refused = std::get_if<LobbyRefused>(&response->answer);
            const LobbyId lobby = refused ? refused->lobby : std::get<LobbyAccepted>(response->answer).lobby;
            return answered(from, to, matchmaker, {MatchPlayersResponse::code, lobby}, refused != nullptr, frame);
        }
        case MatchEventNotice::code: {
            const auto notice = decode<MatchEventNotice>(payload, order());
            if (!notice || notice->event != MatchEventKind::aborted) break;
            const bool is_known = notice->reason.view() != text(Reason::match_not_found);
            return answered(from, to, matchmaker, {MatchEventNotice::code, notice->lobby}, is_known, frame);
        }
        case MatchmakerError::code:
            // It says why the link ends.
            return peers_.send(to, frame);
        default:
            break;
    }
    pass(to, matchmaker, frame);
}

void MatchmakerFan::handshake_answered(CellNumber from, ConnectionId id, Matchmaker& matchmaker,
                                       std::span<const std::byte> frame) {
    const bool is_late = matchmaker.is_welcome && (matchmaker.accepted_by & bit(from)) == 0;
    auto response = decode<MatchmakerHandshakeResponse>(frame.subspan(frame_head_size), order());
    auto* accepted = response ? std::get_if<MatchmakerHandshakeResponse::Accepted>(&response->answer) : nullptr;
    if (!accepted) {
        // A cell that had no owner before refuses whom the others have accepted: it comes again, and hears why.
        if (is_late) return peers_.close(id);
        return peers_.send(id, frame);
    }
    matchmaker.accepted_by |= bit(from);
    if (matchmaker.is_welcome) return;
    matchmaker.acceptance = merged(std::move(matchmaker.acceptance), *accepted);
    welcome_if_complete(id, matchmaker);
}

void MatchmakerFan::welcome_if_complete(ConnectionId id, Matchmaker& matchmaker) {
    const Cells missing = all() & owned_ & ~matchmaker.accepted_by;
    if (matchmaker.is_welcome || matchmaker.accepted_by == 0 || missing != 0) return;
    matchmaker.is_welcome = true;
    std::vector<std::byte> frame;
    encode(MatchmakerHandshakeResponse{std::exchange(matchmaker.acceptance, {})}, order(), frame);
    peers_.send(id, frame);
    for (const Held& held : std::exchange(matchmaker.held, {})) {
        if (held.frame.empty())
            peers_.report_drained(id);
        else
            peers_.send(id, held.frame);
    }
}

void MatchmakerFan::answered(CellNumber from, ConnectionId id, Matchmaker& matchmaker, Key key, bool is_last_word,
                             std::span<const std::byte> frame) {
    const auto found = matchmaker.waiting.find(key);
    if (found == matchmaker.waiting.end()) return pass(id, matchmaker, frame);
    auto& asked = found->second;
    const auto waiting = std::ranges::find_if(asked, [&](const Waiting& each) { return (each.by & bit(from)) != 0; });
    if (waiting == asked.end()) return pass(id, matchmaker, frame);
    waiting->by &= ~bit(from);
    const bool tells = !waiting->is_told && (is_last_word || waiting->by == 0);
    waiting->is_told |= tells;
    if (waiting->by == 0) {
        asked.erase(waiting);
        --matchmaker.waiting_count;
        if (asked.empty()) matchmaker.waiting.erase(found);
    }
    if (tells) pass(id, matchmaker, frame);
}

void MatchmakerFan::report_drained(ConnectionId link) {
    const auto found = matchmakers_.find(link);
    if (found == matchmakers_.end()) return;
    if (found->second.is_asking && !found->second.is_welcome) return hold(link, found->second, {});
    peers_.report_drained(link);
}

void MatchmakerFan::pass(ConnectionId id, Matchmaker& matchmaker, std::span<const std::byte> frame) {
    if (matchmaker.is_asking && !matchmaker.is_welcome) return hold(id, matchmaker, frame);
    peers_.send(id, frame);
}

void MatchmakerFan::hold(ConnectionId id, Matchmaker& matchmaker, std::span<const std::byte> frame) {
    matchmaker.held_bytes += frame.size() + 1;
    if (matchmaker.held_bytes > held_bytes_max) return peers_.close(id);
    matchmaker.held.push_back({{frame.begin(), frame.end()}});
}

void MatchmakerFan::owner_lost(CellNumber cell) {
    owned_ &= ~bit(cell);
    for (auto& [id, matchmaker] : matchmakers_)
        if (matchmaker.is_asking) welcome_if_complete(id, matchmaker);
}

}  // namespace muster
