#include "process/process_identity.h"

#include <sys/wait.h>

#include <array>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace muster;

TEST_CASE("N-3: a process that runs has not ended, whoever asks") {
    const std::string own = process_identity();
    REQUIRE_FALSE(own.empty());
    CHECK(process_identity() == own);
    CHECK_FALSE(has_ended(own));
}

TEST_CASE("N-3: a process that ran on this machine is known to have ended, also when its pid is another's by now") {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string identity = process_identity();
        const bool written = ::write(pipe[1], identity.data(), identity.size()) > 0;
        ::_exit(written ? 0 : 1);
    }
    std::array<char, 512> text{};
    const ssize_t size = ::read(pipe[0], text.data(), text.size());
    REQUIRE(size > 0);
    const std::string identity(text.data(), static_cast<std::size_t>(size));
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK(identity != process_identity());
    CHECK(has_ended(identity));

    std::string own = process_identity();
    own.back() = own.back() == '1' ? '2' : '1';
    CHECK(has_ended(own));
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST_CASE("N-3: nobody is called ended who was on another machine, of another boot, or is not told in full") {
    const std::string own = process_identity();
    CHECK_FALSE(has_ended(""));
    CHECK_FALSE(has_ended("x" + own.substr(1)));
    CHECK_FALSE(has_ended("nonsense"));
    CHECK_FALSE(has_ended("unknown/0123456789abcdef"));
    CHECK_FALSE(has_ended(own.substr(0, own.rfind('/'))));
    CHECK_FALSE(has_ended(own.substr(0, own.find(']') + 1) + "/x1/2"));
}
