// The smallest useful matchmaker: asks Muster for a game server for each match, and follows what becomes of them.
//
//     matchmaker [HOST:PORT] [REGION] [MATCHES] [LOBBY]        matchmaker 127.0.0.1:11033 2 3
//
// MUSTER_AUTH_MATCHMAKER_TOKEN is the token that Muster asks for, if it asks for one. Ends when all matches have ended,
// with exit code 1 when one of them did not come about.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <muster/matchmaker.h>
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
    const std::string muster = count > 1 ? arguments[1] : "127.0.0.1:11033";
    if (muster == "--help") return std::puts("usage: matchmaker [HOST:PORT] [REGION] [MATCHES] [LOBBY]"), 0;
    if (count > 5) throw std::invalid_argument("too many arguments");
    const RegionId region{static_cast<std::int8_t>(number(arguments, 2, 2, 0, 127))};
    const int matches = static_cast<int>(number(arguments, 3, 3, 1, 1000));
    // A lobby's number is used once; the seconds since 1970 make a new series each time.
    const auto new_series = static_cast<double>(std::time(nullptr) % 1'000'000'000);
    const int first_lobby = static_cast<int>(number(arguments, 4, new_series, 1, 2e9));
    const char* token = std::getenv("MUSTER_AUTH_MATCHMAKER_TOKEN");
    std::setvbuf(stdout, nullptr, _IOLBF, 0);

    const auto complain = [](const Outcome& error) { std::printf("problem: %s\n", error.text.c_str()); };
    TcpRunner runner(complain);
    std::set<LobbyId> open;
    int failed = 0;
    const auto over = [&](LobbyId lobby, bool good) {
        if (open.erase(lobby) == 0) return;  // of an earlier run: Muster tells us what we missed
        if (!good) ++failed;
        if (open.empty()) runner.stop();
    };

    MatchmakerCallbacks callbacks;
    callbacks.on_event = [&](const MatchEvent& event) {
        std::printf("lobby %d: %s %s\n", event.lobby.value, std::string(to_string(event.kind)).c_str(),
                    event.reason.c_str());
        if (event.kind == MatchEventKind::ended) over(event.lobby, true);
        if (event.kind == MatchEventKind::aborted) over(event.lobby, false);  // tell the players: the match is off
    };
    callbacks.on_error = complain;
    Matchmaker matchmaker({.token = token ? token : "", .matchmaker_id = "example", .regions = {region}}, callbacks);

    // Requests may be made at any time: what is asked without a connection goes out with the next one.
    for (int i = 0; i < matches; ++i) {
        const LobbyId lobby{first_lobby + i};
        const std::vector<AccountId> players{AccountId{1}, AccountId{2}};
        open.insert(lobby);
        matchmaker.players(lobby, players, {});
        matchmaker.request({.lobby = lobby, .region = region, .player_count = 2}, [&](const Allocation& answer) {
            if (answer) {
                // Send the players there, each with answer.token.
                std::printf("lobby %d: server %d at %s:%d\n", answer.lobby.value, answer.server.value,
                            answer.ip.c_str(), answer.port);
            } else {
                // After 30 s without an answer as well: tell the players that there is no match.
                std::printf("lobby %d: no server: %s\n", answer.lobby.value, answer.outcome.text.c_str());
                over(answer.lobby, false);
            }
        });
    }

    runner.add(matchmaker, muster);
    if (!open.empty()) runner.run();  // until over() stops it
    return failed == 0 ? 0 : 1;
} catch (const std::invalid_argument& wrong) {
    std::fprintf(stderr, "matchmaker: %s\nusage: matchmaker [HOST:PORT] [REGION] [MATCHES] [LOBBY]\n", wrong.what());
    return 64;
}
