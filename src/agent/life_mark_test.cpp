#include "agent/life_mark.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/launch.h"
#include "agent/proc.h"
#include "testing/test_folder.h"

namespace muster {
namespace {

TEST_CASE("G-6, fault 93: a process that clears its environment still carries its life's mark") {
    const TestFolder folder;
    const FileDescriptor out(open((folder.path() / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    // The last one is somebody's grandchild, in a session of its own, without an environment.
    const std::string script =
        "setsid env -i /bin/sh -c 'grep realtime.timeout /proc/self/limits; echo $$; exec /bin/sleep 99' "
        "& wait";
    const auto started = launch({.program = "/bin/sh",
                                 .words = {"sh", "-c", script},
                                 .environment = {{"PATH", "/usr/bin:/bin"}},
                                 .directory = folder.path(),
                                 .output = out.number(),
                                 .mark = life_mark("a life")});
    REQUIRE(started);
    std::string said;
    while (std::count(said.begin(), said.end(), '\n') < 2) said = text_of_file(folder.path() / "out");
    CHECK(said.find(std::to_string(life_mark("a life"))) != std::string::npos);
    const int hidden = std::stoi(said.substr(said.find('\n') + 1));
    CHECK(mark_of(hidden) == life_mark("a life"));
    CHECK(mark_of(hidden) != life_mark("another life"));
    kill(hidden, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(started->pid, &status, 0) == started->pid);
    CHECK_FALSE(mark_of(hidden));
    CHECK_FALSE(mark_of(getpid()));
}

TEST_CASE("G-6: an agent under a lower limit of real-time CPU knows that it cannot mark its processes") {
    const auto can_under = [](rlim_t hard) {
        const pid_t child = fork();
        if (child == 0) {
            const rlimit limit{1'000'000, hard};
            if (setrlimit(RLIMIT_RTTIME, &limit) != 0 || (geteuid() == 0 && setuid(65534) != 0)) _exit(2);
            _exit(can_carry_marks() ? 1 : 0);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        return WEXITSTATUS(status);
    };
    CHECK(can_under(RLIM_INFINITY) == 1);
    CHECK(can_under(1'000'000) == 0);
}

}  // namespace
}  // namespace muster
