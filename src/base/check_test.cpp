#include "base/check.h"

#include <sys/wait.h>

#include <array>
#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace std::string_literals;

namespace {

struct Ended {
    std::string said;
    int status = 0;
};

// Runs `body` in a child and returns what it wrote to standard error and how it ended.
template <class Body>
Ended in_child(Body body) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    Ended ended;
    std::array<char, 512> part{};
    for (ssize_t n = 0; (n = read(ends[0], part.data(), part.size())) > 0;)
        ended.said.append(part.data(), static_cast<std::size_t>(n));
    close(ends[0]);
    waitpid(child, &ended.status, 0);
    return ended;
}

}  // namespace

TEST_CASE("fault 14: a broken invariant ends the process and says what it knows") {
    const Ended ended = in_child([] {
        const int held = 2;
        MUSTER_CHECK(held <= 1, "a server never holds more than its capacity");
    });
    CHECK(WIFSIGNALED(ended.status));
    CHECK(WTERMSIG(ended.status) == SIGABRT);
    CHECK(ended.said.find("a server never holds more than its capacity") != std::string::npos);
    CHECK(ended.said.find("held <= 1") != std::string::npos);
    CHECK(ended.said.find("check_test.cpp") != std::string::npos);
}

TEST_CASE("fault 14: an invariant that holds costs nothing and says nothing") {
    const Ended ended = in_child([] { MUSTER_CHECK(1 + 1 == 2, "arithmetic"); });
    CHECK(ended.said == ""s);
    CHECK(ended.status == 0);
}
