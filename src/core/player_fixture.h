// Players for the tests of core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/core_fixture.h"
#include "protocol/player_messages.h"

namespace muster::testing {

struct TestPlayer {
    ConnectionId link;
    AccountId id;
    std::string resume_token;
};

// The answer to a login, with the world's time that follows it taken too.
inline TestPlayer log_in_on(CoreWorld& world, ConnectionId link, std::string_view name,
                            std::string_view resume_token = "") {
    world.send(link, PlayerLogin{NameText(name), "", ResumeTokenText(resume_token)});
    const auto response = world.next<PlayerLoginResponse>(link);
    const auto* accepted = std::get_if<PlayerLoginResponse::Accepted>(&response.answer);
    REQUIRE(accepted);
    world.next<TimeUpdate>(link);
    return {link, accepted->player, accepted->resume_token.string()};
}

inline TestPlayer log_in(CoreWorld& world, std::string_view name, std::string_view resume_token = "") {
    return log_in_on(world, world.connect(Port::players), name, resume_token);
}

// Echoes the pings that came, and takes the clock's minutes.
inline void answer_pings(CoreWorld& world, const TestPlayer& player) {
    while (!world.quiet(player.link)) {
        auto& frames = world.links.peers[player.link].frames;
        const Code code = frames.front().code;
        if (code != Ping::code && code != TimeChange::code && code != TimeUpdate::code) return;
        frames.pop_front();
        if (code == Ping::code) world.send(player.link, PingEcho{});
    }
}

// Lets time pass until the link has a ping, and takes it; whatever else comes is dropped.
inline void await_ping(CoreWorld& world, ConnectionId link) {
    auto& frames = world.links.peers[link].frames;
    while (frames.empty() || frames.front().code != Ping::code) {
        frames.clear();
        world.run_until(*world.loop.next_wake());
    }
    frames.clear();
}

// Lets time pass for a player that echoes its pings within a second.
inline void live(CoreWorld& world, const TestPlayer& player, Duration time) {
    const Time end = world.clock.now() + time;
    while (world.clock.now() < end) {
        world.advance(std::min<Duration>(1s, end - world.clock.now()));
        answer_pings(world, player);
    }
}

inline std::string close_reason(CoreWorld& world, ConnectionId link) {
    return world.next<ServerClose>(link).reason.string();
}

}  // namespace muster::testing
