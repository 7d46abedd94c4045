// For tests: a game server whose callbacks are written down, and Muster at the other end of its link.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/game_server.h"
#include "protocol/error_texts.h"
#include "protocol/server_messages.h"
#include "sdk/src/test_link.h"

namespace muster::sdk {

struct GameServerFixture {
    static GameServerOptions options() {
        return {.token = "secret", .ip = "10.0.0.7", .port = 27015, .region = RegionId{2}, .max_matches = 3};
    }

    GameServerCallbacks callbacks() {
        return {
            .on_offer =
                [this](const Offer& offer) {
                    note("offer " + std::to_string(offer.lobby.value) + " " + offer.token);
                    return decide ? decide(offer) : OfferAnswer::accept;
                },
            .on_abort =
                [this](LobbyId lobby, std::string_view reason) {
                    note("abort " + std::to_string(lobby.value) + " " + std::string(reason));
                },
            .on_link = [this](LinkState state) { note(name_of(state)); },
            .on_status = [this](ServerStatus status) { note("status " + std::to_string(static_cast<int>(status))); },
            .on_load = {},
            .on_error = [this](const Outcome& error) { note("error " + error.text); }};
    }

    void note(std::string line) { lines.push_back(std::move(line)); }
    std::vector<std::string> noted() { return std::exchange(lines, {}); }

    UnixMs time() const {
        using namespace std::chrono;
        return {1'700'000'000'000 + duration_cast<milliseconds>(muster.now().time_since_epoch()).count()};
    }

    // Up to the first heartbeat, which is answered.
    void join(std::int32_t id = 42) {
        muster.connect();
        greet(id);
    }
    void greet(std::int32_t id = 42) {
        muster.heard<ServerHandshake>();
        accept_handshake(id);
    }
    void accept_handshake(std::int32_t id = 42) {
        muster.say(ServerHandshakeResponse{ServerHandshakeResponse::Accepted{muster::ServerId(id), time()}});
        if (newcomer) said_draining = muster.heard<SetDraining>().draining;
    }
    void acknowledge() {
        newcomer = false;
        muster.say(ServerHeartbeatAck{ServerHeartbeatAck::Accepted{time()}});
    }
    ServerHeartbeat beat() {
        const auto heartbeat = muster.heard<ServerHeartbeat>();
        acknowledge();
        return heartbeat;
    }
    void joined(std::int32_t id = 42) {
        join(id);
        beat();
        noted();
    }

    void offer(int lobby, std::string_view token = "token") {
        muster.say(AllocateMatch{.lobby = muster::LobbyId(lobby), .game_type = 6, .game_mode = 3, .token = token});
    }
    // Whether the client accepted, in its next message.
    bool acknowledged(int lobby) {
        const auto ack = muster.heard<AllocateMatchAck>();
        CHECK(ack.lobby.value == lobby);
        return ack.accepted;
    }
    // An accepted match, up to the answer to READY.
    void hold(int lobby, std::string_view token = "token") {
        offer(lobby, token);
        REQUIRE(acknowledged(lobby));
    }
    void hold_ready(int lobby, std::string_view token = "token") {
        hold(lobby, token);
        REQUIRE(server.ready(LobbyId{lobby}));
        muster.heard<ReadyForMatch>();
        muster.say(ReadyForMatchResponse{LobbyAccepted{muster::LobbyId(lobby)}});
    }
    void hold_started(int lobby) {
        hold_ready(lobby);
        REQUIRE(server.start(LobbyId{lobby}));
        muster.heard<MatchStartedReport>();
        muster.say(MatchResponse{LobbyAccepted{muster::LobbyId(lobby)}});
    }
    void refuse_ready(int lobby, Refusal refusal) {
        muster.say(ReadyForMatchResponse{LobbyRefused{muster::LobbyId(lobby), text(refusal)}});
    }
    void answer_report(int lobby) { muster.say(MatchResponse{LobbyAccepted{muster::LobbyId(lobby)}}); }
    void refuse_report(int lobby, Refusal refusal) {
        muster.say(MatchResponse{LobbyRefused{muster::LobbyId(lobby), text(refusal)}});
    }

    std::function<OfferAnswer(const Offer&)> decide;
    std::vector<std::string> lines;
    bool newcomer = true;        // no heartbeat was acknowledged yet
    bool said_draining = false;  // by a newcomer
    GameServer server{options(), callbacks()};
    TestLink<Port::servers> muster{server};
};

}  // namespace muster::sdk
