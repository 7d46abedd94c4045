// The smallest useful game server: takes the matches that Muster offers, lets a player in, plays a while, ends.
//
//     game_server [HOST:PORT] [PORT] [REGION] [SECONDS]        game_server 127.0.0.1:11032 27015 2 10
//
// PORT is where players would reach this server, SECONDS how long a match takes. MUSTER_AUTH_SERVER_TOKEN is the token
// that Muster asks for, if it asks for one. Ctrl-C leaves.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>

#include <muster/game_server.h>
#include <muster/tcp_runner.h>

using namespace muster::sdk;

// The argument at `place`, if there is one.
static double number(std::span<char*> arguments, std::size_t place, double usual, double least, double most) {
    if (place >= arguments.size()) return usual;
    char* end = nullptr;
    const double value = std::strtod(arguments[place], &end);
    if (*end == '\0' && value >= least && value <= most) return value;
    throw std::invalid_argument(std::string("not a number that fits: ") + arguments[place]);
}

int main(int count, char** values) try {
    const std::span arguments(values, static_cast<std::size_t>(count));
    const std::string muster = count > 1 ? arguments[1] : "127.0.0.1:11032";
    if (muster == "--help") return std::puts("usage: game_server [HOST:PORT] [PORT] [REGION] [SECONDS]"), 0;
    if (count > 5) throw std::invalid_argument("too many arguments");
    const auto port = static_cast<std::uint16_t>(number(arguments, 2, 27015, 1, 65535));
    const RegionId region{static_cast<std::int8_t>(number(arguments, 3, 2, 0, 127))};
    const std::chrono::milliseconds match_time(static_cast<int>(1000 * number(arguments, 4, 10, 0, 3600)));
    const char* token = std::getenv("MUSTER_AUTH_SERVER_TOKEN");
    std::setvbuf(stdout, nullptr, _IOLBF, 0);

    const auto complain = [](const Outcome& error) { std::printf("problem: %s\n", error.text.c_str()); };
    TcpRunner runner(complain);
    GameServer* server = nullptr;

    GameServerCallbacks callbacks;
    callbacks.on_offer = [&](const Offer& offer) {
        std::printf("lobby %d: offered, taking it\n", offer.lobby.value);
        server->ready(offer.lobby);  // a real server loads its map first and calls this when it is done
        // A real player brings account and token over the game's own network. This one only pretends.
        server->validate(offer.lobby, AccountId{1}, offer.token, [&, lobby = offer.lobby](const Outcome& verdict) {
            std::printf("lobby %d: player 1 %s\n", lobby.value, verdict ? "is in" : verdict.text.c_str());
            server->start(lobby);
            std::printf("lobby %d: started, %d running here\n", lobby.value, server->match_count());
            runner.post_after(*server, match_time, [&, lobby] {  // not run once the server is gone
                if (server->end(lobby)) std::printf("lobby %d: ended\n", lobby.value);
            });
        });
        return OfferAnswer::accept;
    };
    callbacks.on_abort = [](LobbyId lobby, std::string_view reason) {
        std::printf("lobby %d: aborted: %s\n", lobby.value, std::string(reason).c_str());
    };
    callbacks.on_link = [&](LinkState state) {
        if (state == LinkState::online) std::printf("online as server %d\n", server->id()->value);
        if (state == LinkState::connecting) std::printf("connection lost, trying again\n");
    };
    callbacks.on_load = [] { return Load{.cpu_percent = 20, .memory_percent = 35}; };  // ask your system here
    callbacks.on_error = complain;

    GameServer game_server(
        {.token = token ? token : "", .ip = "127.0.0.1", .port = port, .region = region, .max_matches = 8}, callbacks);
    server = &game_server;
    runner.add(game_server, muster);

    sigset_t leaving;  // wait for Ctrl-C on this thread, while the runner works on its own
    sigemptyset(&leaving);
    sigaddset(&leaving, SIGINT);
    sigaddset(&leaving, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &leaving, nullptr);
    if (const Outcome started = runner.start(); !started) throw std::runtime_error(started.text);
    int signal = 0;
    sigwait(&leaving, &signal);
    runner.post(game_server, [&] { game_server.goodbye(); });
    runner.stop();
    runner.wait();
    std::printf("left\n");
} catch (const std::invalid_argument& wrong) {
    std::fprintf(stderr, "game_server: %s\nusage: game_server [HOST:PORT] [PORT] [REGION] [SECONDS]\n", wrong.what());
    return 64;
} catch (const std::exception& wrong) {
    std::fprintf(stderr, "game_server: %s\n", wrong.what());
    return 1;
}
