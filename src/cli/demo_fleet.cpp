#include "cli/demo_fleet.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <muster/game_server.h>
#include <muster/matchmaker.h>
#include <muster/player.h>
#include <muster/tcp_runner.h>

#include "base/random.h"
#include "base/time.h"
#include "cli/demo_player.h"
#include "cli/demo_server.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

struct DemoRegion {
    std::int8_t id;
    std::array<std::int32_t, 6> slots;  // of each of its servers; 0: it has fewer
};

// Of the default config. About ten matches run in each: some regions have plenty of room, none runs full for long.
constexpr std::array regions{
    DemoRegion{0, {12, 12, 8, 8, 4, 4}}, DemoRegion{1, {8, 8, 4, 4, 0, 0}},    DemoRegion{2, {16, 16, 12, 8, 8, 4}},
    DemoRegion{9, {8, 8, 8, 0, 0, 0}},   DemoRegion{11, {12, 12, 0, 0, 0, 0}}, DemoRegion{15, {8, 8, 6, 0, 0, 0}},
};
constexpr std::uint16_t first_port = 27'000;
constexpr std::size_t players_wanted = 60;
constexpr std::array matchmakers{"lobby-east", "lobby-west"};
constexpr std::size_t listed_players_max = 4;
constexpr std::int32_t first_visitor = 100'000;  // an account id far from those of the players who log in

// A match that waits for its players, who have no client here and come to the door only.
struct Expected {
    std::string token;
    std::uint16_t port = 0;
    int visitors = 0;
};

}  // namespace

class DemoFleet::Play {
public:
    Play(const DemoPorts& ports, const DemoPace& pace, std::uint64_t seed) : ports_(ports), random_(seed) {
        std::uint16_t port = first_port;
        for (const DemoRegion& region : regions) {
            for (const std::int32_t slots : region.slots) {
                if (slots == 0) continue;
                servers_.push_back(
                    std::make_unique<DemoServer>(runner_, random_, ports.servers,
                                                 demo_server_options(pace, port++, sdk::RegionId(region.id), slots)));
            }
        }
        for (std::size_t i = 0; i < players_wanted; ++i) {
            players_.push_back(std::make_unique<DemoPlayer>(
                runner_, random_, pace, i,
                [this](DemoPlayer& player, const sdk::MatchStart& match) { enter(player, match); }));
        }
        for (const char* name : matchmakers) add_matchmaker(name);
    }

    ~Play() {
        runner_.post([this] {
            for (const auto& server : servers_) server->leave();
            for (const auto& player : players_) player->leave();
            for (const auto& matchmaker : matchmakers_) matchmaker->close();
        });
        runner_.stop();
        runner_.wait();
    }

    void start() {
        for (const auto& server : servers_) server->join();
        for (const auto& matchmaker : matchmakers_) runner_.add(*matchmaker, ports_.matchmakers);
        for (const auto& player : players_) player->join(ports_.players);
        ask_soon();
        lose_link_soon();
        crash_in(random_.between(20, 40));
        if (const sdk::Outcome started = runner_.start(); !started) throw std::runtime_error(started.text);
    }

private:
    void add_matchmaker(const char* name) {
        sdk::MatchmakerOptions options;
        options.matchmaker_id = name;
        for (const DemoRegion& region : regions) options.regions.emplace_back(region.id);
        sdk::MatchmakerCallbacks callbacks;
        callbacks.on_event = [this](const sdk::MatchEvent& event) {
            if (event.kind == sdk::MatchEventKind::ready) visit(event.lobby);
            if (event.kind == sdk::MatchEventKind::ended || event.kind == sdk::MatchEventKind::aborted)
                release(event.lobby);
        };
        matchmakers_.push_back(std::make_unique<sdk::Matchmaker>(std::move(options), std::move(callbacks)));
    }

    // A match after the other, in bursts.
    void ask_soon() {
        const auto pause =
            std::chrono::milliseconds(random_.chance(0.15) ? random_.between(900, 1800) : random_.between(60, 350));
        runner_.post_after(pause, [this] {
            ask();
            ask_soon();
        });
    }

    void ask() {
        const sdk::LobbyId lobby(++last_lobby_);
        const DemoRegion& region = regions[random_.below(regions.size())];
        sdk::Matchmaker& matchmaker = *matchmakers_[random_.below(matchmakers_.size())];
        sdk::MatchRequest wish{.lobby = lobby,
                               .game_type = static_cast<std::int8_t>(random_.between(1, 8)),
                               .game_mode = static_cast<std::int8_t>(random_.between(0, 3)),
                               .region = sdk::RegionId(region.id),
                               .player_count = static_cast<std::int8_t>(random_.between(2, 10)),
                               .average_rating = static_cast<std::int32_t>(random_.between(1100, 2100))};
        const bool for_players = name_players(matchmaker, wish);
        matchmaker.request(
            wish, [this, lobby, visitors = for_players ? 0 : int{wish.player_count}](const sdk::Allocation& answer) {
                if (!answer) return release(lobby);
                expected_[lobby.value] = {answer.token, answer.port, visitors};
            });
    }

    // Some matches are for players who are here, and for them alone.
    bool name_players(sdk::Matchmaker& matchmaker, sdk::MatchRequest& wish) {
        if (!random_.chance(0.25)) return false;
        std::vector<sdk::AccountId> accounts;
        const std::size_t wanted =
            std::min<std::size_t>(listed_players_max, static_cast<std::size_t>(wish.player_count));
        for (const auto& player : players_) {
            if (accounts.size() == wanted) break;
            if (player->take_seat(wish.lobby)) accounts.push_back(*player->id());
        }
        if (accounts.empty()) return false;
        wish.player_count = static_cast<std::int8_t>(accounts.size());
        matchmaker.players(wish.lobby, accounts, [](const sdk::Outcome&) {});
        return true;
    }

    // The visitors come one by one, before the match starts. Now and then one stays away.
    void visit(sdk::LobbyId lobby) {
        const auto found = expected_.find(lobby.value);
        if (found == expected_.end()) return;
        for (int i = 0; i < found->second.visitors; ++i) {
            constexpr double stays_away = 0.03;
            if (random_.chance(stays_away)) continue;
            const sdk::AccountId account(first_visitor + static_cast<std::int32_t>(random_.below(1'000'000)));
            runner_.post_after(std::chrono::milliseconds(random_.between(20, 450)),
                               [this, lobby, account, match = found->second] {
                                   for (const auto& server : servers_)
                                       if (server->port() == match.port) server->let_in(lobby, account, match.token);
                               });
        }
    }

    void release(sdk::LobbyId lobby) {
        expected_.erase(lobby.value);
        for (const auto& player : players_) player->leave_seat(lobby);
    }

    // What a game's own network would do: the player shows up at the server, with account and token.
    void enter(DemoPlayer& player, const sdk::MatchStart& match) {
        for (const auto& server : servers_)
            if (server->port() == match.port) server->let_in(match.lobby, *player.id(), match.token);
    }

    // A server loses its link for a moment and keeps its matches: every ten seconds or so.
    void lose_link_soon() {
        runner_.post_after(std::chrono::milliseconds(random_.between(5'000, 15'000)), [this] {
            servers_[random_.below(servers_.size())]->lose_link();
            lose_link_soon();
        });
    }

    // A server dies and comes back without its matches. Seldom, so that the fleet is what it looks like: healthy.
    // (Health warns from 20 matches on that were lost within 15 minutes.)
    void crash_in(std::int64_t seconds) {
        runner_.post_after(std::chrono::seconds(seconds), [this] {
            servers_[random_.below(servers_.size())]->crash();
            crash_in(random_.between(150, 300));
        });
    }

    DemoPorts ports_;
    // All below belongs to the runner's thread while it runs. The runner goes first.
    Random random_;
    std::int32_t last_lobby_ = 0;
    std::map<std::int32_t, Expected> expected_;  // by lobby; until it is over
    std::vector<std::unique_ptr<DemoServer>> servers_;
    std::vector<std::unique_ptr<DemoPlayer>> players_;
    std::vector<std::unique_ptr<sdk::Matchmaker>> matchmakers_;
    sdk::TcpRunner runner_;
};

DemoFleet::DemoFleet(const DemoPorts& ports, const DemoPace& pace, std::uint64_t seed)
    : play_(std::make_unique<Play>(ports, pace, seed)) {}

DemoFleet::~DemoFleet() = default;

void DemoFleet::start() {
    play_->start();
}

}  // namespace muster
