#include "process/open_files.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace muster;

TEST_CASE("S-7: the soft limit of open files is raised to the hard one") {
    // In a process of its own: a hard limit cannot be raised again.
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const rlimit low{64, 200};
        rlimit now{};
        const bool raised = ::setrlimit(RLIMIT_NOFILE, &low) == 0 && raise_open_files_limit() == 200 &&
                            ::getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == 200 && now.rlim_max == 200;
        ::_exit(raised ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
}
