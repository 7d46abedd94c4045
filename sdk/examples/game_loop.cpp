// A game server with a game loop of its own: the loop runs 60 times a second on the main thread, the SDK on a thread
// that start() makes. Neither waits for the other: each hands functions to the other and goes on.
//
//     game_loop [HOST:PORT] [PORT] [REGION] [SECONDS]        game_loop 127.0.0.1:11032 27017 2 10
//
// PORT is where players would reach this server, SECONDS how long a match takes. MUSTER_AUTH_SERVER_TOKEN is the token
// that Muster asks for, if it asks for one. Ctrl-C leaves.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <muster/game_server.h>
#include <muster/tcp_runner.h>

using namespace muster::sdk;
using Clock = std::chrono::steady_clock;

// What the SDK's thread wants the game's thread to do.
class Inbox {
public:
    void put(std::function<void()> function) {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(function));
    }
    void run_all() {
        std::vector<std::function<void()>> due;
        {
            const std::lock_guard lock(mutex_);
            due.swap(waiting_);
        }
        for (const auto& function : due) function();
    }

private:
    std::mutex mutex_;
    std::vector<std::function<void()>> waiting_;
};

// The game: only the main thread touches it, so it needs no lock.
class Game {
public:
    Game(TcpRunner& runner, std::chrono::milliseconds match_time) : runner_(runner), match_time_(match_time) {}

    void begin(GameServer& muster, LobbyId lobby) {
        std::printf("lobby %d: loading\n", lobby.value);
        matches_[lobby.value] = Clock::now() + match_time_;
        runner_.post(muster, [&muster, lobby] {  // the client belongs to the runner's thread
            muster.ready(lobby);
            muster.start(lobby);
        });
    }
    void drop(LobbyId lobby, const std::string& reason) {
        if (matches_.erase(lobby.value) > 0) std::printf("lobby %d: aborted: %s\n", lobby.value, reason.c_str());
    }
    // One frame: move the world, and end the matches that are over.
    void step(GameServer& muster) {
        std::erase_if(matches_, [&](const auto& match) {
            if (Clock::now() < match.second) return false;
            std::printf("lobby %d: ended\n", match.first);
            runner_.post(muster, [&muster, lobby = LobbyId{match.first}] { muster.end(lobby); });
            return true;
        });
    }

private:
    TcpRunner& runner_;
    std::chrono::milliseconds match_time_;
    std::map<std::int32_t, Clock::time_point> matches_;  // by lobby: when it ends
};

static std::atomic<bool> leaving = false;

static double number(int count, char** values, int place, double usual, double least, double most) {
    if (place >= count) return usual;
    char* end = nullptr;
    const double value = std::strtod(values[place], &end);
    if (*end == '\0' && value >= least && value <= most) return value;
    throw std::invalid_argument(std::string("not a number that fits: ") + values[place]);
}

int main(int count, char** values) try {
    const std::string address = count > 1 ? values[1] : "127.0.0.1:11032";
    if (address == "--help") return std::puts("usage: game_loop [HOST:PORT] [PORT] [REGION] [SECONDS]"), 0;
    if (count > 5) throw std::invalid_argument("too many arguments");
    const auto port = static_cast<std::uint16_t>(number(count, values, 2, 27017, 1, 65535));
    const RegionId region{static_cast<std::int8_t>(number(count, values, 3, 2, 0, 127))};
    const std::chrono::milliseconds match_time(static_cast<int>(1000 * number(count, values, 4, 10, 0, 3600)));
    const char* token = std::getenv("MUSTER_AUTH_SERVER_TOKEN");
    std::setvbuf(stdout, nullptr, _IOLBF, 0);

    const auto complain = [](const Outcome& error) { std::printf("problem: %s\n", error.text.c_str()); };
    Inbox inbox;
    GameServer* muster = nullptr;
    TcpRunner runner(complain);
    Game game(runner, match_time);

    // These run on the SDK's thread. They take no time and touch no game state: they hand it over.
    GameServerCallbacks callbacks;
    callbacks.on_offer = [&](const Offer& offer) {
        inbox.put([&, lobby = offer.lobby] { game.begin(*muster, lobby); });
        return OfferAnswer::accept;
    };
    callbacks.on_abort = [&](LobbyId lobby, std::string_view reason) {
        inbox.put([&, lobby, why = std::string(reason)] { game.drop(lobby, why); });
    };
    callbacks.on_link = [&](LinkState state) {
        if (state == LinkState::online) std::printf("online as server %d\n", muster->id()->value);
    };
    callbacks.on_error = complain;
    GameServer client(
        {.token = token ? token : "", .ip = "127.0.0.1", .port = port, .region = region, .max_matches = 8}, callbacks);
    muster = &client;
    runner.add(client, address);
    std::signal(SIGINT, [](int) { leaving = true; });
    std::signal(SIGTERM, [](int) { leaving = true; });
    if (const Outcome started = runner.start(); !started) throw std::runtime_error(started.text);

    constexpr auto frame = std::chrono::microseconds(16'667);
    for (auto next = Clock::now() + frame; !leaving; next += frame) {
        inbox.run_all();
        game.step(client);
        std::this_thread::sleep_until(next);
    }

    // In this order: say goodbye, send what is left, wait for the thread. Then nothing calls back any more, and game,
    // inbox and client may go.
    runner.post(client, [&] { client.goodbye(); });
    runner.stop();
    runner.wait();
    std::printf("left\n");
} catch (const std::invalid_argument& wrong) {
    std::fprintf(stderr, "game_loop: %s\nusage: game_loop [HOST:PORT] [PORT] [REGION] [SECONDS]\n", wrong.what());
    return 64;
} catch (const std::exception& wrong) {
    std::fprintf(stderr, "game_loop: %s\n", wrong.what());
    return 1;
}
