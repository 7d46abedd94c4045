#include "agent/muster_side.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <netdb.h>

#include "net/file_descriptor.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Said = MusterSaid::Kind;

// What a client that leaves still has to say of its matches is said within this time, once somebody listens: Muster
// keeps a server without a link for about so long.
constexpr Duration goodbye_time = 30s;
// The goodbye itself is on its way by then.
constexpr Duration flush_time = 500ms;
// Things that were told of one client are kept up to this many.
constexpr std::size_t told_max = 32;

sdk::GameServer::MatchStage stage_of(MatchHeld::Stage stage) {
    if (stage == MatchHeld::Stage::started) return sdk::GameServer::MatchStage::started;
    if (stage == MatchHeld::Stage::ready) return sdk::GameServer::MatchStage::ready;
    return sdk::GameServer::MatchStage::accepted;
}

}  // namespace

MusterSide::MusterSide(MusterSideOptions options, const AgentTls& tls, std::function<void()> wake)
    : options_(std::move(options)), tls_(tls), wake_(std::move(wake)) {
    if (const sdk::Outcome started = runner_.start(); !started) throw std::runtime_error(started.text);
}

MusterSide::~MusterSide() {
    close();
}

void MusterSide::close() {
    runner_.stop();
    runner_.wait();
    leaving_.clear();
    waiting_.clear();
    clients_.clear();
}

void MusterSide::said(MusterSaid what) {
    {
        const std::lock_guard lock(mutex_);
        said_.push_back(std::move(what));
    }
    wake_();
}

std::vector<MusterSaid> MusterSide::take_said() {
    std::vector<MusterSaid> all;
    {
        const std::lock_guard lock(mutex_);
        all.swap(said_);
    }
    for (const MusterSaid& each : all)
        for (Client& leaving : leaving_) {
            if (leaving.number != each.client) continue;
            if (each.kind == Said::online) leaving.online = true;
            if (each.kind == Said::connecting) {
                leaving.online = false;
                leaving.owes_goodbye = leaving.owes_goodbye || (leaving.leaves_a_match() && !leaving.closed);
            }
            if (each.kind == Said::closed) leaving.closed = true;
        }
    // What is said to a client that is leaving is nobody's business any more.
    std::erase_if(all, [this](const MusterSaid& each) {
        const auto client = clients_.find(each.process);
        return client == clients_.end() || client->second.number != each.client;
    });
    std::erase_if(all, [this](const MusterSaid& each) { return !is_news(clients_.at(each.process), each); });
    for (const MusterSaid& each : all) {
        Client& client = clients_.at(each.process);
        if (each.kind == Said::online) {
            client.online = true;
            client.told.clear();
            address_ = client.address;
        }
        if (each.kind == Said::connecting) client.online = false;
        if (each.kind == Said::offer) {
            client.match = each.match;
            client.match_ended = false;
        }
    }
    return all;
}

// Without a link the same goes wrong with each attempt: it is told once.
bool MusterSide::is_news(Client& client, const MusterSaid& said) {
    const bool may_repeat = said.kind == Said::no_link || (said.kind == Said::error && !client.online);
    if (!may_repeat) return true;
    if (client.told.size() >= told_max) client.told.clear();
    return client.told.insert(said.text).second;
}

void MusterSide::join(Time now, ProcessId process, std::uint16_t port, const std::optional<MatchHeld>& match) {
    if (must_wait(port)) {
        waiting_[process] = {.port = port, .match = match};
        return;
    }
    const std::uint64_t number = ++last_number_;
    sdk::GameServerCallbacks callbacks;
    callbacks.on_offer = [this, process, number](const sdk::Offer& offer) {
        const SdkMatch offered{LobbyId(offer.lobby.value), offer.game_type, offer.game_mode, offer.token};
        said({.process = process, .client = number, .kind = Said::offer, .match = offered});
        return sdk::OfferAnswer::later;
    };
    callbacks.on_abort = [this, process, number](sdk::LobbyId lobby, std::string_view reason) {
        said({.process = process,
              .client = number,
              .kind = Said::abort,
              .match = {.lobby = LobbyId(lobby.value)},
              .text = std::string(reason)});
    };
    Client client;
    callbacks.on_error = [this, process, number](const sdk::Outcome& error) {
        said({.process = process, .client = number, .kind = Said::error, .text = error.text});
    };
    const auto self = std::make_shared<sdk::GameServer*>(nullptr);
    callbacks.on_link = [this, process, number, self](sdk::LinkState state) {
        if (state == sdk::LinkState::online)
            said(
                {.process = process, .client = number, .kind = Said::online, .server = ServerId((*self)->id()->value)});
        if (state == sdk::LinkState::connecting) said({.process = process, .client = number, .kind = Said::connecting});
        if (state == sdk::LinkState::closed) said({.process = process, .client = number, .kind = Said::closed});
    };
    client.server =
        std::make_unique<sdk::GameServer>(sdk::GameServerOptions{.token = options_.token,
                                                                 .ip = options_.address,
                                                                 .port = port,
                                                                 .region = sdk::RegionId(options_.region.value),
                                                                 .max_matches = 1,
                                                                 .goodbye_timeout = goodbye_time},
                                          std::move(callbacks));
    *self = client.server.get();
    if (match && match->stage != MatchHeld::Stage::offered) take_over(client, match->match, stage_of(match->stage));
    // Two that speak for one port would push each other out. What the last one could not tell, the next one does.
    const std::optional<SdkMatch> ended = match ? std::nullopt : ended_untold(port);
    if (ended) take_over(client, *ended, sdk::GameServer::MatchStage::started);
    std::erase_if(leaving_, [port](const Client& each) { return each.port == port; });
    client.number = number;
    client.port = port;
    client.since = now;
    client.address = address_;
    tls_.add(runner_, *client.server, options_.join[address_]);
    clients_[process] = std::move(client);
    if (ended) tell({.process = process, .lobby = ended->lobby, .what = TellMatch::What::ended});
}

bool MusterSide::must_wait(std::uint16_t port) const {
    return std::ranges::any_of(leaving_,
                               [port](const Client& each) { return each.port == port && each.leaves_a_match(); });
}

void MusterSide::join_waiting(Time now) {
    for (auto each = waiting_.begin(); each != waiting_.end();) {
        const auto [process, waiting] = *each;
        if (must_wait(waiting.port)) {
            ++each;
            continue;
        }
        each = waiting_.erase(each);
        join(now, process, waiting.port, waiting.match);
        if (waiting.draining) drain(process, *waiting.draining);
    }
}

void MusterSide::take_over(Client& client, const SdkMatch& match, sdk::GameServer::MatchStage stage) {
    client.server->take_over({sdk::LobbyId(match.lobby.value), match.game_type, match.game_mode, match.token}, stage);
    client.match = match;
}

// The match of a process that ended in order on this port, and Muster has not answered that.
std::optional<SdkMatch> MusterSide::ended_untold(std::uint16_t port) const {
    for (const Client& each : leaving_)
        if (each.port == port && each.match_ended && !each.crashed && !each.closed) return each.match;
    return std::nullopt;
}

template <class Command>
void MusterSide::command(ProcessId process, Command command) {
    const auto client = clients_.find(process);
    if (client == clients_.end()) return;
    sdk::GameServer* server = client->second.server.get();
    runner_.post(*server, [server, command = std::move(command)] { command(*server); });
}

void MusterSide::leave(Time now, ProcessId process, bool crashed) {
    waiting_.erase(process);
    const auto client = clients_.find(process);
    if (client == clients_.end()) return;
    client->second.crashed = crashed;
    client->second.gone_at = now + goodbye_time + flush_time;
    client->second.owes_goodbye = true;
    if (client->second.online) say_goodbye(client->second);
    leaving_.push_back(std::move(client->second));
    clients_.erase(client);
}

// It waits by itself for answers to what it has reported, also when the link is lost now. What ends a match is said
// over a link only: it is said again when the next one is there.
void MusterSide::say_goodbye(Client& client) {
    client.owes_goodbye = false;
    sdk::GameServer* server = client.server.get();
    runner_.post(*server, [server, crashed = client.crashed, needs_link = client.leaves_a_match()] {
        if (needs_link && server->link_state() == sdk::LinkState::connecting) return;
        if (crashed) return server->crashed();
        server->goodbye();
    });
}

void MusterSide::drain(ProcessId process, bool draining) {
    if (const auto waiting = waiting_.find(process); waiting != waiting_.end()) waiting->second.draining = draining;
    command(process, [draining](sdk::GameServer& server) { server.drain(draining); });
}

void MusterSide::report_load(ProcessId process, sdk::Load load) {
    command(process, [load](sdk::GameServer& server) { server.report_load(load); });
}

void MusterSide::tell(const TellMatch& what) {
    if (const auto client = clients_.find(what.process); client != clients_.end() && client->second.match) {
        const bool of_it = client->second.match->lobby == what.lobby;
        if (of_it && what.what == TellMatch::What::ended) client->second.match_ended = true;
        if (of_it && what.what == TellMatch::What::decline) client->second.match.reset();
    }
    const sdk::LobbyId lobby(what.lobby.value);
    command(what.process, [lobby, what = what.what](sdk::GameServer& server) {
        switch (what) {
            case TellMatch::What::accept:
                server.answer(lobby, sdk::OfferAnswer::accept);
                break;
            case TellMatch::What::decline:
                server.answer(lobby, sdk::OfferAnswer::decline);
                break;
            case TellMatch::What::ready:
                server.ready(lobby);
                break;
            case TellMatch::What::started:
                server.start(lobby);
                break;
            case TellMatch::What::ended:
                server.end(lobby);
                break;
        }
    });
}

void MusterSide::tidy(Time now) {
    for (Client& client : leaving_) {
        // However long Muster is away, it hears first what became of the match that it has stored.
        if (client.owes_goodbye && client.leaves_a_match()) client.gone_at = now + goodbye_time + flush_time;
        if (client.online && client.owes_goodbye) say_goodbye(client);
        if (client.closed) client.gone_at = std::min(client.gone_at, now + flush_time);
    }
    std::erase_if(leaving_, [now](const Client& client) { return client.gone_at <= now; });
    join_waiting(now);
    for (auto& [process, client] : clients_) {
        if (!finds_nobody(now, client)) continue;
        ask_why(process, client);
        try_next_address(client);
    }
    for (Client& client : leaving_)
        if (client.owes_goodbye && finds_nobody(now, client)) try_next_address(client);
}

// True once in each address_patience.
bool MusterSide::finds_nobody(Time now, Client& client) {
    if (client.online) client.since = now;
    if (now - client.since < address_patience) return false;
    client.since = now;
    return true;
}

void MusterSide::try_next_address(Client& client) {
    if (options_.join.size() < 2) return;
    client.address = (client.address + 1) % options_.join.size();
    runner_.remove(*client.server);
    tls_.add(runner_, *client.server, options_.join[client.address]);
}

void MusterSide::ask_why(ProcessId process, const Client& client) {
    const sdk::GameServer* server = client.server.get();
    runner_.post(*server, [this, server, process, number = client.number] {
        const sdk::Outcome& why = server->failure();
        if (!why) said({.process = process, .client = number, .kind = Said::no_link, .text = why.text});
    });
}

std::optional<std::string> local_address_towards(const std::string& address_of_muster) {
    constexpr std::string_view scheme = "muster-tls://";
    const std::string join = address_of_muster.substr(address_of_muster.starts_with(scheme) ? scheme.size() : 0);
    const std::size_t colon = join.rfind(':');
    std::string host = join.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), join.substr(colon + 1).c_str(), &wanted, &found) != 0) return std::nullopt;
    std::optional<std::string> address;
    for (const addrinfo* each = found; each && !address; each = each->ai_next) {
        const FileDescriptor probe(socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_storage local{};
        socklen_t size = sizeof local;
        // Nothing is sent: connecting a UDP socket only picks the route.
        if (!probe || connect(probe.number(), each->ai_addr, each->ai_addrlen) != 0 ||
            getsockname(probe.number(), reinterpret_cast<sockaddr*>(&local), &size) != 0)
            continue;
        std::array<char, NI_MAXHOST> text{};
        if (getnameinfo(reinterpret_cast<const sockaddr*>(&local), size, text.data(), text.size(), nullptr, 0,
                        NI_NUMERICHOST) == 0)
            address = std::string(text.data());
    }
    freeaddrinfo(found);
    return address;
}

}  // namespace muster
