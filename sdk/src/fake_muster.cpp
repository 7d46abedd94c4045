#include "sdk/src/fake_muster.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "protocol/codec.h"
#include "protocol/dispatch.h"
#include "protocol/frame_reader.h"

namespace muster::sdk {

namespace {

constexpr int turn_ms = 10;

int listen_on(std::uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (!bound || listen(fd, 128) != 0) throw std::system_error(errno, std::generic_category(), "listen");
    return fd;
}

std::uint16_t port_of(int fd) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

std::int64_t date_us() {
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

UnixMs date() {
    return {date_us() / 1'000};
}

}  // namespace

FakeMuster::FakeMuster(std::uint16_t servers_port, std::uint16_t matchmakers_port, std::uint16_t players_port)
    : listeners_{listen_on(servers_port), listen_on(matchmakers_port), listen_on(players_port)},
      servers_port_(port_of(listeners_[0])),
      matchmakers_port_(port_of(listeners_[1])),
      players_port_(port_of(listeners_[2])),
      thread_([this] { serve(); }) {}

FakeMuster::~FakeMuster() {
    stopping_ = true;
    thread_.join();
    for (const auto& peer : peers_) {
        if (peer->player != 0) say(peer.get(), ServerClose{"Server shutting down"});
        close(peer->fd);
    }
    for (const int listener : listeners_) close(listener);
}

void FakeMuster::serve() {
    while (!stopping_) {
        std::vector<pollfd> waiting;
        waiting.reserve(listeners_.size() + peers_.size());
        for (const int listener : listeners_) waiting.push_back({listener, POLLIN, 0});
        for (const auto& peer : peers_) waiting.push_back({peer->fd, POLLIN, 0});
        poll(waiting.data(), static_cast<nfds_t>(waiting.size()), turn_ms);

        const bool cut = cut_links_.exchange(false);
        std::vector<Peer*> gone;
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            const bool alive = waiting[i + listeners_.size()].revents == 0 || read(*peers_[i]);
            if (cut || !alive) gone.push_back(peers_[i].get());
        }
        for (Peer* peer : gone) forget(*peer);
        for (std::size_t i = 0; i < listeners_.size(); ++i) {
            if (waiting[i].revents != 0) accept_on(listeners_[i], ports[i]);
        }
    }
}

void FakeMuster::accept_on(int listener, Port port) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd < 0) return;
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->fd = fd;
    peers_.back()->port = port;
}

// False when the link is gone.
bool FakeMuster::read(Peer& peer) {
    std::array<std::byte, 4096> buffer;
    const auto got = recv(peer.fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    peer.unread.insert(peer.unread.end(), buffer.begin(), buffer.begin() + got);
    const ByteOrder order = default_byte_order(peer.port);
    for (;;) {
        const FrameSplit frame = next_frame(peer.unread, order, default_length_max(peer.port));
        if (frame.kind == FrameSplit::Kind::need_more) return true;
        if (frame.kind == FrameSplit::Kind::error) return false;
        const auto visitor = [&](const auto& message) { take(peer, message); };
        const auto taken = visit_inbound(peer.port, order, frame.code, frame.payload, visitor);
        if (!taken) return false;
        peer.unread.erase(peer.unread.begin(), peer.unread.begin() + static_cast<std::ptrdiff_t>(frame.size));
    }
}

void FakeMuster::forget(Peer& peer) {
    for (auto& [lobby, match] : matches_) {
        if (match.server == &peer) match.server = nullptr;
        if (match.matchmaker == &peer) match.matchmaker = nullptr;
    }
    close(peer.fd);
    std::erase_if(peers_, [&](const auto& each) { return each.get() == &peer; });
}

template <Message M>
void FakeMuster::say(const Peer* peer, const M& message) {
    if (!peer) return;
    std::vector<std::byte> bytes;
    encode(message, default_byte_order(M::port), bytes);
    send(peer->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void FakeMuster::tell_matchmaker(muster::LobbyId lobby, MatchEventKind kind, std::string_view reason) {
    say(matches_[lobby.value].matchmaker, MatchEventNotice{lobby, kind, reason});
}

template <Message M>
void FakeMuster::tell_players(const Match& match, const M& message) {
    for (const auto& peer : peers_) {
        if (std::ranges::count(match.players, peer->player) > 0) say(peer.get(), message);
    }
}

void FakeMuster::take(Peer& peer, const ServerHandshake& message) {
    ++handshakes_;
    auto& id = ids_[{message.endpoint.ip.string(), message.endpoint.port}];
    if (id == 0) id = static_cast<std::int32_t>(ids_.size());
    peer.server = id;
    peer.endpoint = message.endpoint;
    peer.region = message.region.value;
    say(&peer, ServerHandshakeResponse{ServerHandshakeResponse::Accepted{muster::ServerId(id), date()}});
}

void FakeMuster::take(Peer& peer, const ServerHeartbeat&) {
    say(&peer, ServerHeartbeatAck{ServerHeartbeatAck::Accepted{date()}});
}

void FakeMuster::take(Peer& peer, const AllocateMatchAck& message) {
    Match& match = matches_[message.lobby.value];
    if (!message.accepted) {
        say(match.matchmaker, AllocationResponse{LobbyRefused{message.lobby, "No servers available"}});
        return;
    }
    match.server = &peer;
    say(match.matchmaker, AllocationResponse{AllocationResponse::Accepted{message.lobby, muster::ServerId(peer.server),
                                                                          peer.endpoint, match.token, date()}});
}

void FakeMuster::take(Peer& peer, const ReadyForMatch& message) {
    if (!matches_.contains(message.lobby.value)) {
        say(&peer, ReadyForMatchResponse{LobbyRefused{message.lobby, "Match not found"}});
        return;
    }
    say(&peer, ReadyForMatchResponse{LobbyAccepted{message.lobby}});
    tell_matchmaker(message.lobby, MatchEventKind::ready);
    tell_players(matches_[message.lobby.value], PlayerMatchStart{message.lobby, peer.endpoint, message.token});
}

void FakeMuster::take(Peer& peer, const ValidateToken& message) {
    if (matches_[message.lobby.value].token == message.token.view()) {
        say(&peer, ValidateTokenResponse{ValidateTokenResponse::Accepted{message.lobby, message.account}});
    } else {
        say(&peer, ValidateTokenResponse{
                       ValidateTokenResponse::Refused{message.lobby, message.account, "Invalid match token"}});
    }
}

void FakeMuster::take(Peer& peer, const MatchStartedReport& message) {
    say(&peer, MatchResponse{LobbyAccepted{message.lobby}});
    tell_matchmaker(message.lobby, MatchEventKind::started);
}

void FakeMuster::take(Peer& peer, const MatchEndedReport& message) {
    say(&peer, MatchResponse{LobbyAccepted{message.lobby}});
    tell_matchmaker(message.lobby, MatchEventKind::ended);
}

void FakeMuster::take(Peer& peer, const SetDraining& message) {
    say(&peer, ServerStatusNotice{message.server,
                                  message.draining ? muster::ServerStatus::draining : muster::ServerStatus::available});
}

void FakeMuster::take(Peer& /*peer*/, const ServerGoodbye&) {
    ++goodbyes_;
}

void FakeMuster::take(Peer& /*peer*/, const ServerCrashed&) {
    ++goodbyes_;
}

void FakeMuster::take(Peer& peer, const MatchmakerHandshake&) {
    ++handshakes_;
    MatchmakerHandshakeResponse::Accepted accepted{date(), {}};
    for (const auto& each : peers_) {
        if (each->server != 0) {
            accepted.servers.items.push_back(
                {muster::ServerId(each->server), each->endpoint, muster::RegionId(each->region), 1});
        }
    }
    say(&peer, MatchmakerHandshakeResponse{std::move(accepted)});
}

void FakeMuster::take(Peer& peer, const AllocationRequest& message) {
    const auto fits = [&](const auto& each) { return each->server != 0 && each->region == message.region.value; };
    const auto server = std::ranges::find_if(peers_, fits);
    if (server == peers_.end()) {
        say(&peer, AllocationResponse{LobbyRefused{message.lobby, "No servers available"}});
        return;
    }
    const std::string token = "MATCH_" + std::to_string(message.lobby.value);
    Match& match = matches_[message.lobby.value];
    match.server = nullptr;
    match.matchmaker = &peer;
    match.token = token;
    say(server->get(), AllocateMatch{message.lobby, message.game_type, message.game_mode, token});
}

void FakeMuster::take(Peer& peer, const MatchmakerHeartbeat&) {
    say(&peer, MatchmakerHeartbeatAck{.time = date()});
}

void FakeMuster::take(Peer& peer, const CancelMatch& message) {
    const auto match = matches_.find(message.lobby.value);
    const bool known = match != matches_.end();
    if (known) say(match->second.server, AbortMatch{message.lobby, "Cancelled"});
    if (known) tell_players(match->second, PlayerMatchAborted{message.lobby, "Cancelled"});
    say(&peer, MatchEventNotice{message.lobby, MatchEventKind::aborted, known ? "Cancelled" : "Match not found"});
    if (known) matches_.erase(match);
}

void FakeMuster::take(Peer& peer, const MatchPlayers& message) {
    Match& match = matches_[message.lobby.value];
    match.players.clear();
    for (const muster::AccountId account : message.accounts.items) match.players.push_back(account.value);
    say(&peer, MatchPlayersResponse{LobbyAccepted{message.lobby}});
}

void FakeMuster::take(Peer& peer, const PlayerLogin& message) {
    if (message.credential == "wrong") {
        say(&peer, PlayerLoginResponse{Refused{"Invalid credential"}});
        return;
    }
    const int number = ++handshakes_;
    Session& session = sessions_[message.player_name.string()];
    if (session.player == 0) session.player = static_cast<std::int32_t>(sessions_.size());
    if (!message.resume_token.empty() && message.resume_token == session.resume_token) ++resumes_;
    session.resume_token = "resume-" + std::to_string(number);
    for (const auto& each : peers_) {
        if (each->player == session.player) say(each.get(), ServerClose{"Logged in elsewhere"});
        if (each->player == session.player) each->player = 0;
    }
    peer.player = session.player;
    say(&peer,
        PlayerLoginResponse{PlayerLoginResponse::Accepted{muster::AccountId(session.player), session.resume_token}});
    say(&peer, TimeUpdate{.day = 3, .hour = 14, .minute = 30});
    say(&peer, Ping{});
}

void FakeMuster::take(Peer& peer, const PlayerLogout&) {
    peer.player = 0;
    ++logouts_;
}

void FakeMuster::take(Peer& peer, const PingEcho&) {
    say(&peer, EntityHeartbeat{.request_id = 1});
}

void FakeMuster::take(Peer& peer, const PingRequest&) {
    say(&peer, PingReply{});
}

void FakeMuster::take(Peer& peer, const ClockSync& message) {
    const std::int64_t now = date_us();
    say(&peer, ClockSyncReply{message.client_send_us, now, now});
}

void FakeMuster::take(Peer& /*peer*/, const EntityHeartbeatAnswer&) {}

void FakeMuster::take(Peer& /*peer*/, const PlayerActivity&) {}

void FakeMuster::take(Peer& /*peer*/, const GameMessage&) {
    ++game_messages_;
}

}  // namespace muster::sdk
