// For tests: a player whose callbacks are written down, and Muster at the other end of its link.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/player.h"
#include "protocol/error_texts.h"
#include "protocol/player_messages.h"
#include "sdk/src/test_link.h"

namespace muster::sdk {

struct PlayerFixture {
    explicit PlayerFixture(const PlayerOptions& options = {}) : player(options, callbacks()), muster(player) {}

    PlayerCallbacks callbacks() {
        return {.on_login =
                    [this](const LoggedIn& login) {
                        note("login " + std::to_string(login.player.value) + (login.resumed ? " resumed" : " fresh"));
                        if (also) std::exchange(also, {})();
                    },
                .on_refused =
                    [this](const Outcome& why) {
                        note("refused " + std::string(to_string(why.code)) + ": " + why.text);
                        if (also) std::exchange(also, {})();
                    },
                .on_match_start =
                    [this](const MatchStart& match) {
                        note("match " + std::to_string(match.lobby.value) + " at " + match.ip + ":" +
                             std::to_string(match.port) + " " + match.token);
                    },
                .on_match_aborted =
                    [this](LobbyId lobby, std::string_view reason) {
                        note("aborted " + std::to_string(lobby.value) + " " + std::string(reason));
                    },
                .on_closed =
                    [this](std::string_view reason, bool comes_back) {
                        note("closed " + std::string(reason) + (comes_back ? ", comes back" : ", stays away"));
                        if (also) std::exchange(also, {})();
                    },
                .on_link = [this](LinkState state) { note(name_of(state)); },
                .on_time = [this](const WorldTime& time) { note("time " + shown(time)); },
                .on_ping =
                    [this](Duration round_trip) {
                        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(round_trip);
                        note("ping " + std::to_string(ms.count()) + " ms");
                    },
                .on_heartbeat = [this] { return alive ? alive() : true; },
                .on_error = [this](const Outcome& error) { note("error " + error.text); }};
    }

    static std::string shown(const WorldTime& time) {
        return std::string(day_name(time.day)) + " " + std::to_string(time.hour) + ":" + std::to_string(time.minute);
    }
    void note(std::string line) { lines.push_back(std::move(line)); }
    std::vector<std::string> noted() { return std::exchange(lines, {}); }

    // Muster's answers to a login that is under way.
    void accept(std::int32_t id = 7, std::string_view token = "resume-1") {
        muster.say(PlayerLoginResponse{PlayerLoginResponse::Accepted{muster::AccountId(id), token}});
    }
    void refuse(std::string_view words) { muster.say(PlayerLoginResponse{Refused{words}}); }
    void close(std::string_view reason) { muster.say(ServerClose{reason}); }
    void ping() {
        muster.say(Ping{});
        muster.heard<PingEcho>();
    }

    // Up to the login, with nothing left unheard or untold.
    void log_in(std::int32_t id = 7, std::string_view token = "resume-1") {
        player.login("ann", "secret");
        muster.connect();
        greet(id, token);
    }
    // On a new link.
    PlayerLogin greet(std::int32_t id = 7, std::string_view token = "resume-1") {
        const auto login = muster.heard<PlayerLogin>();
        accept(id, token);
        muster.heard<ClockSync>();
        return login;
    }
    void logged_in(std::int32_t id = 7, std::string_view token = "resume-1") {
        log_in(id, token);
        noted();
    }

    std::function<void()> also;  // done once, within on_login, on_refused or on_closed
    std::function<bool()> alive;
    std::vector<std::string> lines;
    Player player;
    TestLink<Port::players> muster;
};

}  // namespace muster::sdk
