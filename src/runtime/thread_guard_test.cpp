#include "runtime/thread_guard.h"

#include <sys/wait.h>

#include <csignal>
#include <iostream>
#include <thread>

#include <doctest/doctest.h>
#include <unistd.h>

#include "runtime/loop_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// Whether `body`, run on a thread of its own in a child process, ends it by a broken invariant.
template <class Body>
bool aborts_on_another_thread(Body body) {
    std::cout.flush();  // or the child would say it again
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        std::thread(body).join();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#ifdef NDEBUG
constexpr bool checked = false;
#else
constexpr bool checked = true;
#endif

}  // namespace

TEST_CASE("L-1: a guard belongs to the thread that made it, until another binds it") {
    ThreadGuard guard;
    CHECK(guard.owned_by_this_thread());
    bool seen_as_owner = true;
    bool bound = false;
    std::thread([&] {
        seen_as_owner = guard.owned_by_this_thread();
        guard.bind_to_this_thread();
        bound = guard.owned_by_this_thread();
    }).join();
    CHECK_FALSE(seen_as_owner);
    CHECK(bound);
    CHECK_FALSE(guard.owned_by_this_thread());
}

TEST_CASE_FIXTURE(LoopFixture,
                  "L-1: a debug build ends the process when another thread touches loop, timers or events") {
    CHECK(aborts_on_another_thread([&] { loop.turn(); }) == checked);
    CHECK(aborts_on_another_thread([&] { static_cast<void>(loop.timers().once(1s, [](const TimerFired&) {})); }) ==
          checked);
    CHECK(aborts_on_another_thread([&] { loop.events().subscribe_all([](const EventView&) {}); }) == checked);
    CHECK_FALSE(aborts_on_another_thread([&] {
        loop.bind_to_this_thread();
        loop.turn();
        static_cast<void>(loop.timers().once(1s, [](const TimerFired&) {}));
    }));
    CHECK_FALSE(aborts_on_another_thread([&] { loop.stop(); }));
}
