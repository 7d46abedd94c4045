#include "agent/launch.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "agent/proc.h"
#include "testing/test_folder.h"

namespace muster {
namespace {

LaunchPlan shell(const TestFolder& folder, const std::string& script, int output) {
    return {.program = "/bin/sh",
            .words = {"sh", "-c", script},
            .environment = {{"MUSTER_LIFE", "abc"}, {"PATH", "/usr/bin:/bin"}},
            .directory = folder.path(),
            .output = output};
}

TEST_CASE("G-1: a program gets its words, environment, folder and output and a session of its own") {
    const TestFolder folder;
    const FileDescriptor leaked(open("/dev/null", O_RDONLY));  // not closed by an exec of itself
    const FileDescriptor out(open((folder.path() / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const auto started = launch(
        shell(folder, "echo $MUSTER_LIFE; pwd; test -e /proc/$$/fd/3 || echo closed; read x || echo none; exit 3",
              out.number()));
    REQUIRE(started);
    CHECK(started->pidfd);
    int status = 0;
    REQUIRE(waitpid(started->pid, &status, 0) == started->pid);
    CHECK(WEXITSTATUS(status) == 3);
    const std::string said = text_of_file(folder.path() / "out");
    CHECK(said == "abc\n" + folder.path().string() + "\nclosed\nnone\n");
}

TEST_CASE("G-5: a program that cannot be started is told with what the system said") {
    const TestFolder folder;
    const FileDescriptor out(open("/dev/null", O_WRONLY | O_CLOEXEC));
    LaunchPlan plan = shell(folder, "true", out.number());
    plan.program = folder.path() / "none";
    auto started = launch(plan);
    REQUIRE_FALSE(started);
    CHECK(started.error() == (folder.path() / "none").string() + ": No such file or directory");
    plan = shell(folder, "true", out.number());
    plan.directory = folder.path() / "gone";
    started = launch(plan);
    REQUIRE_FALSE(started);
    CHECK(started.error() == (folder.path() / "gone").string() + ": No such file or directory");
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

TEST_CASE("G-10: SIGUSR1 does not end a program that knows nothing of it") {
    const TestFolder folder;
    const FileDescriptor out(open("/dev/null", O_WRONLY | O_CLOEXEC));
    LaunchPlan plan = shell(folder, "kill -USR1 $$; exit 7", out.number());
    plan.ignores_usr1 = true;
    const auto started = launch(plan);
    REQUIRE(started);
    int status = 0;
    REQUIRE(waitpid(started->pid, &status, 0) == started->pid);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("G-11: a command is found as the system would find it") {
    const TestFolder folder;
    const auto file = folder.write("server", "#!/bin/sh\n");
    CHECK_FALSE(find_program("./server", folder.path(), "/bin"));  // it may not be run
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    CHECK(find_program("./server", folder.path(), "/bin") == folder.path() / "./server");
    CHECK_FALSE(find_program("server", folder.path(), "/bin"));
    CHECK(find_program("sh", folder.path(), "/nowhere:/bin") == std::filesystem::path("/bin/sh"));
    CHECK_FALSE(find_program("/", folder.path(), "/bin"));
}

TEST_CASE("G-4: words in braces are replaced and others left") {
    const ProcessWords words{7001, "arena-1", "host-1", 2};
    CHECK(with_words("-port={port} {name}@{host}:{region} {x} {port", words) ==
          "-port=7001 arena-1@host-1:2 {x} {port");
    CHECK(with_words("{port}{port}", words) == "70017001");
}

TEST_CASE("G-3: no variable of the agent reaches a process") {
    setenv("MUSTER_AUTH_SERVER_TOKEN", "hush", 1);
    setenv("NOTIFY_SOCKET", "/run/x", 1);
    setenv("SOME_GAME_VARIABLE", "1", 1);
    bool kept = false;
    for (const EnvironmentEntry& each : inherited_environment()) {
        CHECK_FALSE(each.name.starts_with("MUSTER_"));
        CHECK(each.name != "NOTIFY_SOCKET");
        kept = kept || each.name == "SOME_GAME_VARIABLE";
    }
    CHECK(kept);
    for (const char* name : {"MUSTER_AUTH_SERVER_TOKEN", "NOTIFY_SOCKET", "SOME_GAME_VARIABLE"}) unsetenv(name);
}

TEST_CASE("G-8: a process's figures are read whatever its name is") {
    const auto stat =
        parse_stat("42 (a) b) c) S 1 41 41 0 -1 4194304 1 0 0 0 10 20 3 4 20 0 1 0 777 1000 5 18446744073709551615");
    REQUIRE(stat);
    CHECK(stat->parent == 1);
    CHECK(stat->group == 41);
    CHECK(stat->start_ticks == 777);
    CHECK(stat->cpu == std::chrono::milliseconds(370));
    CHECK(stat->memory_bytes == 5 * sysconf(_SC_PAGESIZE));
    CHECK_FALSE(parse_stat("42 (x) S 1"));
    CHECK_FALSE(parse_stat(""));
    REQUIRE(read_stat(getpid()));
    CHECK(read_stat(getpid())->memory_bytes > 0);
    CHECK_FALSE(read_stat(-1));
}

TEST_CASE("G-4: a port that a UDP or TCP socket has is not free") {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
        const FileDescriptor taken(socket(AF_INET, type | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(bind(taken.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        if (type == SOCK_STREAM) REQUIRE(listen(taken.number(), 1) == 0);
        socklen_t size = sizeof address;
        getsockname(taken.number(), reinterpret_cast<sockaddr*>(&address), &size);
        const std::uint16_t port = ntohs(address.sin_port);
        CHECK_FALSE(port_is_free(port));
    }
}

}  // namespace
}  // namespace muster
