// What a program does wrong with a runner and its clients is an outcome, or ends the process with a message; it never
// hangs and never touches what is gone. Worth most under the sanitizers.
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "muster/game_server.h"
#include "muster/matchmaker.h"
#include "muster/tcp_runner.h"
#include "sdk/src/fake_muster.h"
#include "sdk/src/runner_fixture.h"

namespace muster::sdk {

namespace {

using namespace std::chrono_literals;

std::unique_ptr<GameServer> server_that_tells(Happening& online, std::uint16_t port = 27015) {
    return std::make_unique<GameServer>(server_options(port), GameServerCallbacks{.on_link = [&](LinkState state) {
                                            if (state == LinkState::online) online.happen();
                                        }});
}

// A client that needs no network: its callback comes with the next pass.
class SelfCaller {
public:
    explicit SelfCaller(std::function<void()> then)
        : client_(std::make_unique<Matchmaker>(matchmaker_options(),
                                               MatchmakerCallbacks{.on_link = [then](LinkState) { then(); }})) {
        client_->close();
    }
    Matchmaker& client() { return *client_; }
    void destroy() { client_.reset(); }

private:
    std::unique_ptr<Matchmaker> client_;
};

// Runs `misuse` in a process of its own. What it wrote to standard error before it was aborted; none when it was not.
std::optional<std::string> aborted_with(const std::function<void()>& misuse) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        std::signal(SIGABRT, SIG_DFL);  // not doctest's
        alarm(20);                      // a hang ends, too
        misuse();
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    char bytes[4096];
    for (ssize_t got = 0; (got = read(ends[0], bytes, sizeof bytes)) > 0;) {
        said.append(bytes, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) return std::nullopt;
    return said;
}

}  // namespace

TEST_CASE("SDK: a client that dies while its runner runs is let go, on whichever thread it dies") {
    FakeMuster muster;
    TcpRunner runner;
    for (int i = 0; i < 20; ++i) {
        Happening online;
        Happening gone;
        auto here = server_that_tells(online, static_cast<std::uint16_t>(20'000 + i));
        auto there = server_that_tells(online, static_cast<std::uint16_t>(21'000 + i));
        runner.add(*here, muster.servers_address());
        runner.add(*there, muster.servers_address());
        CHECK(bool(runner.start()) == (i == 0));
        if (i % 2 == 0) REQUIRE(online.wait());
        here.reset();
        runner.post([&] {
            there.reset();
            gone.happen();
        });
        REQUIRE(gone.wait());
    }
}

TEST_CASE("SDK: the runner may be declared before its client, and die after it, while it runs") {
    FakeMuster muster;
    Happening online;
    TcpRunner runner;
    const auto server = server_that_tells(online);
    runner.add(*server, muster.servers_address());
    CHECK(runner.start());
    CHECK(online.wait());
}

TEST_CASE("SDK: a client outlives its runner, and can join another") {
    FakeMuster muster;
    Happening online;
    Happening again;
    std::atomic<int> onlines{0};
    GameServer server(server_options(), {.on_link = [&](LinkState state) {
                          if (state == LinkState::online) ++onlines == 1 ? online.happen() : again.happen();
                      }});
    {
        TcpRunner runner;
        runner.add(server, muster.servers_address());
        CHECK_THROWS_AS(runner.add(server, muster.servers_address()), std::invalid_argument);
        TcpRunner other;
        CHECK_THROWS_AS(other.add(server, muster.servers_address()), std::invalid_argument);
        CHECK(runner.start());
        REQUIRE(online.wait());
    }
    CHECK(server.link_state() == LinkState::connecting);
    TcpRunner runner;
    runner.add(server, muster.servers_address());
    CHECK(runner.start());
    CHECK(again.wait());
}

TEST_CASE("SDK: what was posted for a client that has died is not run") {
    TcpRunner runner;
    std::vector<std::string> ran;
    auto server = std::make_unique<GameServer>(server_options(), GameServerCallbacks{});
    runner.post(*server, [&] { ran.push_back("while it lived: " + std::to_string(server->match_count())); });
    runner.post([&] { server.reset(); });
    runner.post(*server, [&] { ran.push_back("too late: " + std::to_string(server->match_count())); });
    runner.post_after(*server, 1ms, [&] { ran.push_back("much too late: " + std::to_string(server->match_count())); });
    runner.post_after(5ms, [&] { runner.stop(); });
    CHECK(runner.run());
    CHECK(ran == std::vector<std::string>{"while it lived: 0"});
}

TEST_CASE("SDK: starting twice, and running or waiting inside a callback, are refused at once") {
    TcpRunner runner;
    Happening called;
    Outcome ran;
    Outcome waited;
    Outcome started;
    REQUIRE(runner.start());
    CHECK(runner.start().code == ErrorCode::invalid_call);
    CHECK(runner.run().code == ErrorCode::invalid_call);
    runner.post([&] {
        ran = runner.run();
        waited = runner.wait();
        started = runner.start();
        called.happen();
    });
    REQUIRE(called.wait());
    runner.stop();
    CHECK(runner.wait());
    CHECK(ran == Outcome{ErrorCode::invalid_call, "The runner runs already"});
    CHECK(waited == Outcome{ErrorCode::invalid_call, "The runner would wait for itself"});
    CHECK(started.code == ErrorCode::invalid_call);

    CHECK(runner.start());  // after a stop it may be started again
    runner.stop();
    CHECK(runner.wait());
    CHECK(runner.wait());
}

TEST_CASE("SDK: a delay that no clock can count never comes, and one below zero comes at once") {
    TcpRunner runner;
    std::vector<int> ran;
    runner.post_after(Duration::max(), [&] { ran.push_back(1); });
    runner.post_after(Duration::min(), [&] { ran.push_back(2); });
    runner.post_after(-1ns, [&] {
        ran.push_back(3);
        runner.stop();
    });
    CHECK(runner.run());
    CHECK(ran == std::vector{2, 3});
}

TEST_CASE("SDK: options with the longest time there is are taken as never") {
    GameServerOptions options = server_options();
    options.heartbeat_interval = Duration::max();
    options.heartbeat_timeout = Duration::max();
    options.offer_timeout = Duration::max();
    options.validate_timeout = Duration::max();
    GameServer server(options, {});
    const Time now = std::chrono::steady_clock::now();
    server.tick(now);
    server.connected(now);
    server.validate(LobbyId{1}, AccountId{1}, "t", {});
    CHECK(*server.next_tick() > now);

    options.offer_timeout = Duration{};
    CHECK_THROWS_AS(GameServer(options, {}), std::invalid_argument);
}

TEST_CASE("SDK: clients come and go inside callbacks, their own and those of others") {
    TcpRunner runner;
    std::vector<std::string> seen;
    std::optional<SelfCaller> second;
    SelfCaller other([&] { seen.emplace_back("other"); });
    SelfCaller first([&] {
        seen.emplace_back("first");
        second.emplace([&] {
            seen.emplace_back("second");
            runner.stop();
        });
        other.destroy();  // before its turn: it is not called any more
        runner.add(second->client(), "127.0.0.1:1");
        runner.remove(first.client());
    });
    runner.add(first.client(), "127.0.0.1:1");
    runner.add(other.client(), "127.0.0.1:1");
    CHECK(runner.run());
    CHECK(seen == std::vector<std::string>{"first", "second"});
    runner.add(first.client(), "127.0.0.1:1");  // it was removed, so it can be added
}

TEST_CASE("SDK: threads may add, remove and destroy clients of a runner that runs") {
    FakeMuster muster;
    TcpRunner runner;
    REQUIRE(runner.start());
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, i] {
            for (int j = 0; j < 30; ++j) {
                GameServer server(server_options(static_cast<std::uint16_t>(22'000 + 100 * i + j)), {});
                runner.add(server, muster.servers_address());
                if (j % 3 == 0) runner.remove(server);
                if (j % 3 == 1) std::this_thread::yield();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST_CASE("SDK: a client that is destroyed inside its own callback ends the process with a message") {
    const auto said = aborted_with([] {
        TcpRunner runner;
        SelfCaller* caller_address = nullptr;
        SelfCaller caller([&] { caller_address->destroy(); });
        caller_address = &caller;
        runner.add(caller.client(), "127.0.0.1:1");
        static_cast<void>(runner.run());
    });
    REQUIRE(said);
    CHECK(said->find("a client of the SDK was destroyed inside its own callback") != std::string::npos);
}

TEST_CASE("SDK: a runner that is destroyed inside a callback ends the process with a message") {
    const auto said = aborted_with([] {
        auto runner = std::make_unique<TcpRunner>();
        runner->post([&] { runner.reset(); });
        static_cast<void>(runner->run());
    });
    REQUIRE(said);
    CHECK(said->find("a runner of the SDK was destroyed inside a callback of its own") != std::string::npos);
}

}  // namespace muster::sdk
