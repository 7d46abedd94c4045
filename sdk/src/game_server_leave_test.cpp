// How a game server leaves: what it has said of its matches arrives first.
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "muster/tcp_runner.h"
#include "sdk/src/game_server_fixture.h"

namespace muster::sdk {
namespace {

using namespace std::chrono_literals;

using Lines = std::vector<std::string>;

TEST_CASE_FIXTURE(GameServerFixture, "F-12: a goodbye waits until Muster has answered the end of a match") {
    joined();
    hold_started(5);
    hold_started(6);
    noted();
    REQUIRE(server.end(LobbyId{5}));
    muster.heard<MatchEndedReport>();
    server.goodbye();
    CHECK(muster.silent());
    CHECK(server.leaving());
    // It has left as far as its game is concerned.
    CHECK(server.match_count() == 0);
    CHECK_FALSE(server.ready(LobbyId{6}));
    CHECK_FALSE(server.end(LobbyId{6}));
    server.drain(true);
    bool told = false;
    server.validate(LobbyId{6}, AccountId{1}, "token",
                    [&](const Outcome& outcome) { told = outcome.code == ErrorCode::closed; });
    CHECK(muster.silent());
    // What Muster still offers is declined at once.
    offer(7);
    CHECK_FALSE(acknowledged(7));
    muster.advance(1s);
    CHECK(muster.silent());
    CHECK(told);
    answer_report(5);
    CHECK(muster.heard<ServerGoodbye>().server.value == 42);
    CHECK_FALSE(server.leaving());
    CHECK(muster.dropped());
    muster.lose();
    muster.advance(1h);
    CHECK(noted() == Lines{"closed"});
    CHECK_FALSE(server.next_tick());
}

TEST_CASE_FIXTURE(GameServerFixture,
                  "F-12: the end of a match that was lost with the link is told before the goodbye") {
    joined();
    hold_started(5);
    REQUIRE(server.end(LobbyId{5}));
    muster.forget();
    server.goodbye();
    muster.lose();
    // A second goodbye changes nothing.
    server.crashed();
    muster.advance(1s);
    CHECK(server.leaving());
    join(43);
    CHECK(muster.heard<MatchEndedReport>().lobby.value == 5);
    beat();
    refuse_report(5, Refusal::match_already_ended);  // the first one had arrived after all
    CHECK(muster.heard<ServerGoodbye>().server.value == 43);
    CHECK(muster.dropped());
}

TEST_CASE_FIXTURE(GameServerFixture, "F-12: a goodbye waits for its time and no longer, with and without a link") {
    joined();
    hold_started(5);
    REQUIRE(server.end(LobbyId{5}));
    muster.forget();
    SUBCASE("the link is there") {
        server.crashed();
        muster.advance(GameServerOptions{}.goodbye_timeout - 1ms);
        CHECK(muster.silent());
        muster.advance(1ms);
        CHECK(muster.heard<ServerCrashed>().server.value == 42);
    }
    SUBCASE("the link is lost") {
        muster.lose();
        server.goodbye();
        muster.advance(GameServerOptions{}.goodbye_timeout - 1ms);
        CHECK(server.leaving());
        muster.advance(1ms);
        CHECK_FALSE(muster.wanted());
    }
    CHECK_FALSE(server.leaving());
    muster.lose();
    muster.advance(1h);
    CHECK(noted().back() == "closed");
    CHECK_FALSE(server.next_tick());
}

// Leaves for 50 ms, without a connection.
class Leaver final : public Client {
public:
    ~Leaver() override { leave_runner(); }
    void seed_jitter(std::uint64_t) override {}
    bool wants_connection() const override { return false; }
    void connected(Time) override {}
    void disconnected(Time) override {}
    void receive(std::span<const std::byte>, Time) override {}
    std::vector<std::byte> take_output() override { return {}; }
    void tick(Time now) override {
        if (!until_) until_ = now + 50ms;
        over_ = now >= *until_;
    }
    std::optional<Time> next_tick() const override { return over_ ? std::nullopt : until_; }
    bool leaving() const override { return !over_; }

private:
    std::optional<Time> until_;
    bool over_ = false;
};

TEST_CASE("F-12: a runner that stops waits for a client that is leaving") {
    TcpRunner runner;
    Leaver leaver;
    runner.add(leaver, "127.0.0.1:1");
    runner.stop();
    REQUIRE(runner.run());
    CHECK_FALSE(leaver.leaving());
}

}  // namespace
}  // namespace muster::sdk
