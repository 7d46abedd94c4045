#include "load_fleet.h"

#include <algorithm>
#include <stdexcept>

#include "protocol/matchmaker_messages.h"
#include "protocol/server_messages.h"

namespace muster::bench {
namespace {

using namespace std::chrono_literals;

constexpr RegionId region{2};
constexpr std::int32_t first_port = 1'024;
constexpr std::size_t servers_per_address = 60'000;
constexpr std::size_t links_per_address = 20'000;  // of the loopback's addresses: each has some 28,000 ports to give
constexpr auto heartbeat_every = 10s;
constexpr auto matchmaker_heartbeat_every = 30s;
constexpr auto come_again_max = 200ms;
constexpr auto progress_every = 200ms;
constexpr auto silence_max = 60s;

template <Message M>
M read(std::span<const std::byte> payload) {
    auto message = decode<M>(payload, ByteOrder::little);
    if (!message) throw std::runtime_error("an answer that cannot be read: " + std::string(M::name));
    return std::move(*message);
}

// Where the server of this number is said to serve players.
GameEndpoint endpoint_of(std::size_t server) {
    return {"127.0.0." + std::to_string(1 + server / servers_per_address),
            first_port + static_cast<std::int32_t>(server % servers_per_address)};
}

std::uint32_t source_of(std::size_t link) {
    return PeerEnd{}.address + static_cast<std::uint32_t>(link / links_per_address);
}

// An answer's error text; empty for a success.
template <Message M>
std::string error_of(const M& message) {
    const auto* refused = std::get_if<typename M::Refused>(&message.answer);
    return refused ? refused->error.string() : std::string();
}

}  // namespace

LoadFleet::LoadFleet(const LoadOptions& options)
    : options_(options),
      random_(options.seed),
      now_(std::chrono::steady_clock::now()),
      servers_(options.servers),
      matchmakers_(options.matchmakers),
      lobbies_(options.allocations),
      missing_(servers_.size() + matchmakers_.size()),
      links_(servers_.size() + matchmakers_.size(), *this) {
    figures_.per_server.resize(servers_.size());
    figures_.answer_seconds.reserve(options.allocations);
}

std::chrono::duration<double> LoadFleet::register_all(Ports ports) {
    ports_ = ports;
    const Moment began = now_ = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < servers_.size() + matchmakers_.size(); ++i) {
        if (i < servers_.size() ? servers_[i].registered : matchmakers_[i - servers_.size()].registered) continue;
        do_planned({now_, Deed::connect, i, 0});
    }
    Moment heard = began;
    while (missing_ > 0) {
        if (now_ - heard > silence_max)
            throw std::runtime_error(std::to_string(missing_) + " peers could not register");
        const std::size_t before = missing_;
        turn(now_ + 10ms);
        if (missing_ < before) heard = now_;
    }
    return now_ - began;
}

void LoadFleet::cut_all() {
    for (std::size_t i = 0; i < servers_.size() + matchmakers_.size(); ++i) links_.cut(i);
    for (GameServer& server : servers_) server.registered = false;
    for (Matchmaker& matchmaker : matchmakers_) matchmaker.registered = false;
    missing_ = servers_.size() + matchmakers_.size();
    plans_ = {};
}

void LoadFleet::heartbeat_all() {
    const auto beats = [&] {
        std::uint64_t all = 0;
        for (const GameServer& server : servers_) all += server.acknowledged_beats;
        return all;
    };
    const std::uint64_t before = beats();
    const Moment began = now_;
    for (std::uint32_t i = 0; i < servers_.size(); ++i) heartbeat(i);
    while (beats() < before + servers_.size()) {
        if (now_ - began > silence_max || figures_.refused > 0)
            throw std::runtime_error("a heartbeat was not acknowledged");
        turn(now_ + 10ms);
    }
}

void LoadFleet::allocate(const std::function<void(const LoadFigures&)>& progress) {
    now_ = std::chrono::steady_clock::now();
    const Moment began = now_;
    const auto due_of = [&](std::uint64_t request) {
        return began + std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::duration<double>(static_cast<double>(request) / options_.per_second));
    };
    Moment shown = now_;
    Moment moved = now_;
    std::uint64_t before = 0;
    while (figures_.asked < lobbies_.size() || figures_.answered < figures_.asked ||
           figures_.ended + figures_.aborted < figures_.succeeded) {
        while (figures_.asked < lobbies_.size() && due_of(figures_.asked) <= now_) {
            lobbies_[figures_.asked].due = due_of(figures_.asked);
            ask();
        }
        if (figures_.answered == lobbies_.size()) {
            for (const auto& [server, lobby] : kept_) end(server, lobby);
            kept_.clear();
        }
        turn(figures_.asked < lobbies_.size() ? due_of(figures_.asked) : now_ + 50ms);
        if (figures_.answered == lobbies_.size() && figures_.asking.count() == 0) figures_.asking = now_ - began;
        const std::uint64_t done = figures_.answered + figures_.ended + figures_.aborted;
        if (done != before) moved = now_;
        before = done;
        if (now_ - moved > silence_max) throw std::runtime_error("nothing was answered for a minute");
        if (now_ - shown < progress_every) continue;
        shown = now_;
        progress(figures_);
    }
    figures_.took = now_ - began;
}

// Does what is planned up to now, and then waits for the peers until `until` at most.
void LoadFleet::turn(Moment until) {
    now_ = std::chrono::steady_clock::now();
    while (!plans_.empty() && plans_.top().when <= now_) {
        const Planned next = plans_.top();
        plans_.pop();
        do_planned(next);
    }
    if (!plans_.empty()) until = std::min(until, plans_.top().when);
    links_.turn(std::max(until - now_, std::chrono::nanoseconds::zero()));
    now_ = std::chrono::steady_clock::now();
}

void LoadFleet::do_planned(const Planned& planned) {
    switch (planned.deed) {
        case Deed::connect:
            if (planned.who < servers_.size())
                return links_.open(
                    planned.who, ports_.servers,
                    {.address = source_of(planned.who), .tls = options_.server_tls, .resumes = options_.resumes});
            return links_.open(planned.who, ports_.matchmakers,
                               {.tls = options_.matchmaker_tls, .resumes = options_.resumes});
        case Deed::heartbeat:
            heartbeat(planned.who);
            return plan(heartbeat_every, Deed::heartbeat, planned.who);
        case Deed::matchmaker_heartbeat:
            links_.send(link_of_matchmaker(planned.who), MatchmakerHeartbeat{});
            return plan(matchmaker_heartbeat_every, Deed::matchmaker_heartbeat, planned.who);
        case Deed::acknowledge:
            return acknowledge(planned.who, planned.lobby);
        case Deed::end:
            return end(planned.who, planned.lobby);
    }
}

void LoadFleet::opened(std::size_t link) {
    if (link < servers_.size())
        return links_.send(link, ServerHandshake{{}, endpoint_of(link), region, options_.max_matches});
    links_.send(link, MatchmakerHandshake{{}, "matchmakers." + std::to_string(link - servers_.size()), {{region}}});
}

void LoadFleet::closed(std::size_t link) {
    const auto who = static_cast<std::uint32_t>(link);
    bool& flag = link < servers_.size() ? servers_[link].registered : matchmakers_[link - servers_.size()].registered;
    if (flag) {
        flag = false;
        ++missing_;
        ++figures_.lost_links;
    }
    plan(some_of(come_again_max), Deed::connect, who);
}

void LoadFleet::registered(bool& flag) {
    if (flag) throw std::runtime_error("a handshake was answered twice");
    flag = true;
    --missing_;
}

void LoadFleet::frame(std::size_t link, Code code, std::span<const std::byte> payload) {
    const auto index = static_cast<std::uint32_t>(link);
    if (link < servers_.size()) return server_frame(index, code, payload);
    matchmaker_frame(index - static_cast<std::uint32_t>(servers_.size()), code, payload);
}

void LoadFleet::server_frame(std::uint32_t index, Code code, std::span<const std::byte> payload) {
    GameServer& server = servers_[index];
    switch (code) {
        case ServerHandshakeResponse::code: {
            const auto message = read<ServerHandshakeResponse>(payload);
            const auto* accepted = std::get_if<ServerHandshakeResponse::Accepted>(&message.answer);
            if (!accepted) return;  // the link is closed next, and tried again
            if (server.id.value != 0 && server.id != accepted->server) ++figures_.changed_ids;
            server.id = accepted->server;
            registered(server.registered);
            return plan(some_of(heartbeat_every), Deed::heartbeat, index);
        }
        case ServerHeartbeatAck::code:
            if (error_of(read<ServerHeartbeatAck>(payload)).empty()) {
                ++server.acknowledged_beats;
            } else {
                ++figures_.refused;
            }
            return;
        case AllocateMatch::code:
            return offered(index, payload);
        case ReadyForMatchResponse::code: {
            const auto message = read<ReadyForMatchResponse>(payload);
            const auto* accepted = std::get_if<LobbyAccepted>(&message.answer);
            if (!accepted) {
                ++figures_.refused;
                return;
            }
            return started(index, accepted->lobby.value);
        }
        case MatchResponse::code:
            if (!error_of(read<MatchResponse>(payload)).empty()) ++figures_.refused;
            return;
        case AbortMatch::code:
            server.held.erase(read<AbortMatch>(payload).lobby.value);
            return;
        default:
            throw std::runtime_error("a game server was sent code " + std::to_string(code));
    }
}

void LoadFleet::offered(std::uint32_t index, std::span<const std::byte> payload) {
    const auto offer = read<AllocateMatch>(payload);
    auto& held = servers_[index].held;
    held[offer.lobby.value] = offer.token.string();
    if (held.size() > static_cast<std::size_t>(options_.max_matches)) ++figures_.overfilled;
    if (lobby(offer.lobby.value).offers++ > 0) ++figures_.retries;
    if (options_.ack_max == 0ms) return acknowledge(index, offer.lobby.value);
    plan(some_of(options_.ack_max), Deed::acknowledge, index, offer.lobby.value);
}

// And is ready at once: what a game server does between the two is its own.
void LoadFleet::acknowledge(std::uint32_t index, std::int32_t lobby_id) {
    const GameServer& server = servers_[index];
    const auto held = server.held.find(lobby_id);
    if (held == server.held.end()) return;  // withdrawn meanwhile
    lobby(lobby_id).server = index;
    links_.send(index, AllocateMatchAck{true, LobbyId(lobby_id)});
    links_.send(index, ReadyForMatch{server.id, LobbyId(lobby_id), held->second});
}

void LoadFleet::started(std::uint32_t index, std::int32_t lobby_id) {
    links_.send(index, MatchStartedReport{servers_[index].id, LobbyId(lobby_id)});
    if (options_.match < 0ms) {
        kept_.emplace_back(index, lobby_id);
    } else {
        plan(options_.match, Deed::end, index, lobby_id);
    }
}

void LoadFleet::end(std::uint32_t index, std::int32_t lobby_id) {
    if (servers_[index].held.erase(lobby_id) == 0) return;
    links_.send(index, MatchEndedReport{servers_[index].id, LobbyId(lobby_id)});
}

void LoadFleet::heartbeat(std::uint32_t index) {
    const GameServer& server = servers_[index];
    // An offer counts from its acknowledgement on (F-7).
    const auto matches = std::count_if(server.held.begin(), server.held.end(),
                                       [&](const auto& held) { return lobby(held.first).server == index; });
    links_.send(index, ServerHeartbeat{server.id, static_cast<std::int32_t>(matches), 20, 30});
}

void LoadFleet::ask() {
    const std::size_t matchmaker = figures_.asked % matchmakers_.size();
    const auto id = static_cast<std::int32_t>(++figures_.asked);
    links_.send(link_of_matchmaker(matchmaker), AllocationRequest{LobbyId(id), 6, 0, region, 10, 1650});
}

void LoadFleet::matchmaker_frame(std::uint32_t index, Code code, std::span<const std::byte> payload) {
    switch (code) {
        case MatchmakerHandshakeResponse::code: {
            if (!error_of(read<MatchmakerHandshakeResponse>(payload)).empty()) return;
            registered(matchmakers_[index].registered);
            return plan(some_of(matchmaker_heartbeat_every), Deed::matchmaker_heartbeat, index);
        }
        case AllocationResponse::code:
            return answered(payload);
        case MatchEventNotice::code:
            return match_event(payload);
        case MatchmakerHeartbeatAck::code:
            return;
        default:
            throw std::runtime_error("a matchmaker was sent code " + std::to_string(code));
    }
}

void LoadFleet::answered(std::span<const std::byte> payload) {
    const auto message = read<AllocationResponse>(payload);
    const auto* accepted = std::get_if<AllocationResponse::Accepted>(&message.answer);
    Lobby& asked = lobby(accepted ? accepted->lobby.value : std::get<LobbyRefused>(message.answer).lobby.value);
    if (asked.answered) throw std::runtime_error("a request was answered twice");
    asked.answered = true;
    ++figures_.answered;
    (accepted ? figures_.answer_seconds : figures_.refusal_seconds)
        .push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - asked.due).count());
    if (!accepted) {
        ++figures_.failures[std::get<LobbyRefused>(message.answer).error.string()];
        return;
    }
    ++figures_.succeeded;
    if (asked.server == no_server || servers_[asked.server].id != accepted->server ||
        !(accepted->endpoint == endpoint_of(asked.server))) {
        ++figures_.misplaced;
        return;
    }
    ++figures_.per_server[asked.server];
}

void LoadFleet::match_event(std::span<const std::byte> payload) {
    const auto notice = read<MatchEventNotice>(payload);
    Lobby& told = lobby(notice.lobby.value);
    if (notice.event != MatchEventKind::ended && notice.event != MatchEventKind::aborted) return;
    if (told.over) throw std::runtime_error("a match ended twice");
    told.over = true;
    ++(notice.event == MatchEventKind::ended ? figures_.ended : figures_.aborted);
}

void LoadFleet::plan(std::chrono::nanoseconds in, Deed deed, std::uint32_t who, std::int32_t lobby_id) {
    plans_.push({now_ + in, deed, who, lobby_id});
}

std::chrono::nanoseconds LoadFleet::some_of(std::chrono::nanoseconds most) {
    return std::chrono::nanoseconds(std::uniform_int_distribution<std::int64_t>(0, most.count())(random_));
}

}  // namespace muster::bench
