// The keeper in a process of its own, as it is; the test is its agent.
#include "agent/keeper.h"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/exit_note.h"
#include "agent/keeper_link.h"
#include "agent/pidfd_exit.h"
#include "agent/proc.h"
#include "testing/soon.h"
#include "testing/test_folder.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

struct KeptWorld {
    const TestFolder folder;
    std::optional<KeeperLink> link;
    pid_t keeper = 0;
    FileDescriptor output{open("/dev/null", O_WRONLY | O_CLOEXEC)};
    FileDescriptor lock{open((folder.path() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};

    KeptWorld() {
        int ends[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        keeper = fork();
        if (keeper == 0) {
            close(ends[0]);
            // It has none of the agent's files.
            lock.reset();
            keep_processes(FileDescriptor(ends[1]));
            _exit(42);
        }
        close(ends[1]);
        link.emplace(FileDescriptor(ends[0]), Launched{});
    }
    ~KeptWorld() {
        if (keeper > 0) {
            kill(keeper, SIGKILL);
            waitpid(keeper, nullptr, 0);
        }
    }

    KeptLaunch shell(const std::string& script, const std::string& life = "life") const {
        return {.plan = {.program = "/bin/sh",
                         .words = {"sh", "-c", script},
                         .environment = {{"PATH", "/usr/bin:/bin"}, {"EMPTY", ""}, {"WITH", "a=b\nc"}},
                         .directory = folder.path(),
                         .output = output.number()},
                .life = life,
                .exit_file = (folder.path() / (life + ".exit")).string()};
    }
    std::optional<ExitNote> note(const std::string& life = "life") const {
        return parse_exit_note(text_of_file(folder.path() / (life + ".exit")));
    }
    // The keeper's own end, and what it returned.
    bool keeper_ends() {
        int status = 0;
        if (!soon([&] { return waitpid(keeper, &status, WNOHANG) == keeper; })) return false;
        keeper = 0;
        return WIFEXITED(status) && WEXITSTATUS(status) == 42;
    }
};

TEST_CASE("G-5: a note of an exit is read back, and nothing else is") {
    for (const ExitStatus status : {ExitStatus{.code = 0}, ExitStatus{.code = 255}, ExitStatus{.signal = 11}}) {
        const auto back = parse_exit_note(to_text(ExitNote{"abc", status}));
        REQUIRE(back);
        CHECK(back->life == "abc");
        CHECK(back->status == status);
    }
    for (const char* text : {"", "abc code 3", "abc code\n", "abc code 256\n", "abc code -1\n", "abc signal 0\n",
                             "abc signal 11 x\n", "abc core 11\n", "abc code 3x\n"})
        CHECK_FALSE(parse_exit_note(text));
}

TEST_CASE_FIXTURE(KeptWorld, "G-1, G-5: the keeper starts a program as the agent would, and tells and writes its end") {
    const auto started = link->launch(shell("test -z \"$EMPTY\" && printf %s \"$WITH\" > out; exit 7"), lock.number());
    REQUIRE(started);
    CHECK(started->pidfd);
    std::vector<ExitNote> ends;
    REQUIRE(soon([&] { return !(ends = link->take_ends()).empty(); }));
    REQUIRE(ends.size() == 1);
    CHECK(ends[0].life == "life");
    CHECK(ends[0].status == ExitStatus{.code = 7});
    CHECK(text_of_file(folder.path() / "out") == "a=b\nc");
    REQUIRE(note());
    CHECK(note()->status == ExitStatus{.code = 7});
    CHECK_FALSE(link->lost());
}

TEST_CASE_FIXTURE(KeptWorld, "G-5: a program that the keeper cannot start is told with what the system said") {
    KeptLaunch launch = shell("exit 0");
    launch.plan.program = folder.path() / "none";
    CHECK(link->launch(launch, lock.number()).error() ==
          fmt::format("{}: No such file or directory", launch.plan.program.string()));
    CHECK(link->launch(shell("exit 0"), lock.number()));
}

TEST_CASE_FIXTURE(KeptWorld, "G-7, fault 91: a process goes on without its agent, and how it ends is written down") {
    REQUIRE(mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
    REQUIRE(link->launch(shell("read x < fifo; kill -SEGV $$", "one"), lock.number()));
    REQUIRE(link->launch(shell("read x < fifo; sleep 1000 & exit 0", "two"), lock.number()));
    link.reset();
    CHECK_FALSE(note("one"));
    const FileDescriptor fifo(open((folder.path() / "fifo").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(write(fifo.number(), "x\nx\n", 4) == 4);
    REQUIRE(soon([&] { return note("one") && note("two"); }));
    CHECK(note("one")->status == ExitStatus{.signal = SIGSEGV});
    CHECK(note("two")->status == ExitStatus{.code = 0});
    // With the last of them it ends, and what they left in their groups has ended as well.
    CHECK(keeper_ends());
}

TEST_CASE_FIXTURE(
    KeptWorld,
    "G-7, fault 91: what an agent asked for and did not live to see is not started, nor is its folder free before") {
    REQUIRE(flock(lock.number(), LOCK_EX | LOCK_NB) == 0);
    kill(keeper, SIGSTOP);
    // A descriptor of its own, as another agent has.
    const FileDescriptor other(open((folder.path() / "lock").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(send_launch(link->file(), shell("touch started; sleep 1000"), lock.number()));
    link.reset();
    lock.reset();
    CHECK(flock(other.number(), LOCK_EX | LOCK_NB) != 0);
    kill(keeper, SIGCONT);
    CHECK(keeper_ends());
    CHECK(flock(other.number(), LOCK_EX | LOCK_NB) == 0);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "started"));
}

TEST_CASE_FIXTURE(KeptWorld, "G-1: a keeper that stands still is given up before other processes miss much") {
    REQUIRE(kill(keeper, SIGSTOP) == 0);
    const auto began = std::chrono::steady_clock::now();
    CHECK_FALSE(link->launch(shell("exit 0"), lock.number()));
    CHECK(link->lost());
    CHECK(std::chrono::steady_clock::now() - began < 8s);
}

TEST_CASE_FIXTURE(KeptWorld, "G-7: a keeper that was killed is known to be lost") {
    REQUIRE(link->launch(shell("exit 0"), lock.number()));
    kill(keeper, SIGKILL);
    waitpid(keeper, nullptr, 0);
    keeper = 0;
    CHECK(soon([&] { return (void)link->take_ends(), link->lost(); }));
    CHECK_FALSE(link->launch(shell("exit 0"), lock.number()));
}

}  // namespace
}  // namespace muster
