#include "process/program_image.h"

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace muster;

namespace {

int run(const ProgramImage& program) {
    const pid_t child = ::fork();
    if (child == 0) {
        program.execute();
        ::_exit(127);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return exit_code_of(status);
}

int run_shell(const std::string& script, const std::map<std::string, std::string>& environment,
              ProgramImage::Inherit inherit) {
    return run(ProgramImage({"sh", "-c", script}, environment, inherit));
}

}  // namespace

TEST_CASE("O-1: a program that a command starts inherits the environment, with what is given on top") {
    ::setenv("MUSTER_IMAGE_TEST", "old", 1);
    ::setenv("OTHER_IMAGE_TEST", "old", 1);
    using enum ProgramImage::Inherit;
    CHECK(run_shell("test $MUSTER_IMAGE_TEST$OTHER_IMAGE_TEST = oldold", {}, all) == 0);
    CHECK(run_shell("test $MUSTER_IMAGE_TEST$OTHER_IMAGE_TEST = newold", {{"MUSTER_IMAGE_TEST", "new"}}, all) == 0);
    CHECK(run_shell("test \"$MUSTER_IMAGE_TEST$OTHER_IMAGE_TEST\" = old", {}, not_musters) == 0);
    CHECK(run_shell("test $MUSTER_IMAGE_TEST$OTHER_IMAGE_TEST = newer",
                    {{"MUSTER_IMAGE_TEST", "new"}, {"OTHER_IMAGE_TEST", "er"}}, not_musters) == 0);
    ::unsetenv("MUSTER_IMAGE_TEST");
    ::unsetenv("OTHER_IMAGE_TEST");
}

TEST_CASE("O-1: how a program ended is told as a shell tells it") {
    using enum ProgramImage::Inherit;
    CHECK(run_shell("exit 78", {}, all) == 78);
    CHECK(run_shell("kill -TERM $$", {}, all) == 128 + SIGTERM);
    CHECK(run(ProgramImage({"/no/such/program"}, {}, all)) == 127);
}
