#include "cli/demo_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster {

sdk::GameServerOptions demo_server_options(const DemoPace& pace, std::uint16_t port, sdk::RegionId region,
                                           std::int32_t slots) {
    sdk::GameServerOptions options;
    options.ip = "127.0.0.1";
    options.port = port;
    options.region = region;
    options.max_matches = slots;
    options.heartbeat_interval = pace.heartbeat_interval;
    options.heartbeat_timeout = pace.heartbeat_timeout;
    return options;
}

DemoServer::DemoServer(sdk::TcpRunner& runner, Random& random, std::string address, sdk::GameServerOptions options)
    : runner_(runner), random_(random), address_(std::move(address)), options_(std::move(options)) {}

void DemoServer::join() {
    sdk::GameServerCallbacks callbacks;
    callbacks.on_offer = [this](const sdk::Offer& offer) {
        constexpr double declined = 0.02;
        if (random_.chance(declined)) return sdk::OfferAnswer::decline;
        play(offer.lobby);
        return sdk::OfferAnswer::accept;
    };
    callbacks.on_load = [this] { return load(); };
    client_ = std::make_unique<sdk::GameServer>(options_, std::move(callbacks));
    runner_.add(*client_, address_);
}

void DemoServer::leave() {
    if (client_) client_->goodbye();
}

void DemoServer::lose_link() {
    if (!client_ || away_) return;
    away_ = true;
    runner_.remove(*client_);
    runner_.post_after(*client_, std::chrono::milliseconds(random_.between(500, 2'500)), [this] {
        away_ = false;
        runner_.add(*client_, address_);
    });
}

void DemoServer::crash() {
    if (!client_ || away_) return;
    runner_.remove(*client_);
    client_.reset();
    runner_.post_after(std::chrono::milliseconds(random_.between(3'000, 12'000)), [this] { join(); });
}

void DemoServer::let_in(sdk::LobbyId lobby, sdk::AccountId player, std::string_view token) {
    if (client_) client_->validate(lobby, player, token, [](const sdk::Outcome&) {});
}

// Each step finds the match gone if it was aborted or the server has died meanwhile; then nothing happens.
void DemoServer::play(sdk::LobbyId lobby) {
    const auto ready_at = std::chrono::milliseconds(random_.between(100, 900));
    const auto start_at = ready_at + std::chrono::milliseconds(random_.between(600, 2'500));
    const auto end_at = start_at + std::chrono::milliseconds(random_.between(4'000, 35'000));
    runner_.post_after(ready_at, [this, lobby] { client_ && client_->ready(lobby); });
    runner_.post_after(start_at, [this, lobby] { client_ && client_->start(lobby); });
    runner_.post_after(end_at, [this, lobby] { client_ && client_->end(lobby); });
}

sdk::Load DemoServer::load() {
    const double share = static_cast<double>(client_->match_count()) / static_cast<double>(options_.max_matches);
    const double cpu = 6 + 80 * share + 8 * random_.unit();
    const double memory = 20 + 55 * share + 3 * random_.unit();
    return {.cpu_percent = static_cast<float>(std::min(cpu, 100.0)), .memory_percent = static_cast<float>(memory)};
}

}  // namespace muster
