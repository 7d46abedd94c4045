#include "process/signals.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "process/core_dumps.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("X-3: SIGTERM, SIGINT and SIGQUIT stop, SIGHUP reloads, and no signal is none") {
    Signals signals;
    CHECK(signals.wait(1ms) == std::nullopt);
    ::kill(::getpid(), SIGTERM);
    CHECK(signals.wait(10s) == Signal::stop);
    ::kill(::getpid(), SIGINT);
    CHECK(signals.wait(10s) == Signal::stop);
    ::kill(::getpid(), SIGQUIT);
    CHECK(signals.wait(10s) == Signal::stop);
    ::kill(::getpid(), SIGHUP);
    CHECK(signals.wait(10s) == Signal::reload);
    CHECK(signals.wait(0ms) == std::nullopt);
}

TEST_CASE("X-3: a reload that is asked for before anybody waits is not lost and ends nothing") {
    hold_reload();
    ::kill(::getpid(), SIGHUP);
    {
        Signals signals;
        CHECK(signals.wait(10s) == Signal::reload);
    }
    release_reload();
}

TEST_CASE("X-3: a second SIGTERM while it stops does not change how it ends") {
    std::cout.flush();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        {
            const Signals signals;
            ::kill(::getpid(), SIGTERM);
            ::kill(::getpid(), SIGINT);
        }
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
}

TEST_CASE("fault 4: a file at its size limit is an error that can be handled, not the end of the process") {
    std::cout.flush();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const Signals signals;
        const rlimit none{0, 0};
        std::FILE* file = std::tmpfile();
        if (!file || ::setrlimit(RLIMIT_FSIZE, &none) != 0) ::_exit(2);
        ::_exit(::write(::fileno(file), "x", 1) < 0 && errno == EFBIG ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("fault 69: core dumps are off, also where they are piped to a program") {
    // In a child, since it cannot be undone.
    std::cout.flush();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        disable_core_dumps();
        rlimit limit{};
        const bool off = ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0 && ::prctl(PR_GET_DUMPABLE) == 0;
        ::_exit(off ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
