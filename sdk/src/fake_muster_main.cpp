// The fake Muster as a program, called like the real one: fake_muster serve --ports-file FILE. For tests of the
// examples that need no daemon.
#include <csignal>
#include <cstdio>
#include <string>

#include <unistd.h>

#include "sdk/src/fake_muster.h"

int main(int count, char** arguments) {
    if (count != 4 || std::string(arguments[2]) != "--ports-file") {
        std::fprintf(stderr, "usage: fake_muster serve --ports-file FILE\n");
        return 64;
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    const muster::sdk::FakeMuster muster;
    const std::string path = arguments[3];
    const std::string unfinished = path + ".new";
    std::FILE* file = std::fopen(unfinished.c_str(), "w");
    if (!file) return 73;
    std::fprintf(file, "{\"servers\":\"%s\",\"matchmakers\":\"%s\",\"players\":\"%s\"}\n",
                 muster.servers_address().c_str(), muster.matchmakers_address().c_str(),
                 muster.players_address().c_str());
    std::fclose(file);
    std::rename(unfinished.c_str(), path.c_str());

    int signal = 0;
    sigwait(&signals, &signal);
    return 0;
}
