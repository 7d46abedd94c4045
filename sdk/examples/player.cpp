// The smallest useful player: logs in, follows the world's time, hears of its match, leaves at Ctrl-C.
//
//     player [HOST:PORT] [NAME]        player 127.0.0.1:11031 ann
//
// MUSTER_PLAYER_CREDENTIAL is what `muster player-token` gave for the name; a Muster without a player key asks for
// none. Ends with exit code 1 when Muster refuses the login or sends the player away.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <muster/player.h>
#include <muster/tcp_runner.h>
#include <unistd.h>

using namespace muster::sdk;

int main(int count, char** arguments) try {
    const std::string muster = count > 1 ? arguments[1] : "127.0.0.1:11031";
    if (muster == "--help") return std::puts("usage: player [HOST:PORT] [NAME]"), 0;
    if (count > 3) throw std::invalid_argument("too many arguments");
    const std::string name = count > 2 ? arguments[2] : "ann";
    const char* credential = std::getenv("MUSTER_PLAYER_CREDENTIAL");
    std::setvbuf(stdout, nullptr, _IOLBF, 0);

    const auto complain = [](const Outcome& error) { std::printf("problem: %s\n", error.text.c_str()); };
    TcpRunner runner(complain);

    PlayerCallbacks callbacks;
    callbacks.on_login = [](const LoggedIn& login) {
        std::printf("logged in as player %d%s\n", login.player.value, login.resumed ? ", where I left off" : "");
    };
    callbacks.on_refused = [](const Outcome& why) { std::printf("refused: %s\n", why.text.c_str()); };
    callbacks.on_time = [](const WorldTime& time) {
        std::printf("%s %02d:%02d, %s\n", std::string(day_name(time.day)).c_str(), time.hour, time.minute,
                    is_night(time.hour) ? "night" : "day");
    };
    callbacks.on_match_start = [](const MatchStart& match) {
        // Connect there, and show the game server your player id and match.token.
        std::printf("lobby %d: play at %s:%d\n", match.lobby.value, match.ip.c_str(), match.port);
    };
    callbacks.on_match_aborted = [](LobbyId lobby, std::string_view reason) {
        std::printf("lobby %d: no match: %s\n", lobby.value, std::string(reason).c_str());
    };
    callbacks.on_closed = [](std::string_view reason, bool comes_back) {
        std::printf("closed: %s%s\n", std::string(reason).c_str(), comes_back ? ", trying again" : "");
    };
    callbacks.on_link = [](LinkState state) {
        if (state == LinkState::connecting) std::printf("connection lost, trying again\n");
        if (state == LinkState::closed) kill(getpid(), SIGTERM);  // wakes the main thread below
    };
    callbacks.on_error = complain;

    Player player({}, callbacks);
    player.login(name, credential ? credential : "");
    runner.add(player, muster);

    sigset_t leaving;  // wait for Ctrl-C on this thread, while the runner works on its own
    sigemptyset(&leaving);
    sigaddset(&leaving, SIGINT);
    sigaddset(&leaving, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &leaving, nullptr);
    if (const Outcome started = runner.start(); !started) throw std::runtime_error(started.text);
    int signal = 0;
    sigwait(&leaving, &signal);
    bool sent_away = false;
    runner.post(player, [&] {
        sent_away = player.link_state() == LinkState::closed;
        player.logout();
    });
    runner.stop();
    runner.wait();
    std::printf(sent_away ? "sent away\n" : "logged out\n");
    return sent_away ? 1 : 0;
} catch (const std::invalid_argument& wrong) {
    std::fprintf(stderr, "player: %s\nusage: player [HOST:PORT] [NAME]\n", wrong.what());
    return 64;
} catch (const std::exception& wrong) {
    std::fprintf(stderr, "player: %s\n", wrong.what());
    return 1;
}
