#include "process/log_output.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Pipe {
    Pipe() { REQUIRE(::pipe2(ends, O_CLOEXEC) == 0); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    int in() const { return ends[1]; }
    void close_end(int end) {
        if (ends[end] >= 0) ::close(std::exchange(ends[end], -1));
    }
    // What is in the pipe now.
    std::string content() const {
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        std::string all;
        char buffer[65'536];
        for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
            all.append(buffer, static_cast<std::size_t>(got));
        return all;
    }
    int ends[2] = {-1, -1};
};

// 2026-11-16T03:32:27.123Z
constexpr UnixMs time_of_test{1'794'799'947'123};

// What only a call that waits for the reader takes, even on a machine that stalls: the reader never comes.
constexpr Duration blocked = 30s;

LogRecord record(LogLevel level, std::string_view line) {
    return {level, time_of_test, line};
}

Duration time_of(const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::steady_clock::now() - start;
}

}  // namespace

TEST_CASE("a line has its time in UTC, its level and its text") {
    const Pipe pipe;
    {
        LogOutput output(pipe.in(), {});
        output.write(record(LogLevel::info, "line"));
        output.write(record(LogLevel::warning, "careful"));
        output.write(record(LogLevel::error, "broken"));
        output.write(record(LogLevel::debug, "detail"));
        output.print("as it is\n  on two lines");
        output.close();
        CHECK(output.dropped() == 0);
    }
    CHECK(pipe.content() ==
          "2026-11-16T03:32:27.123Z info  line\n"
          "2026-11-16T03:32:27.123Z warn  careful\n"
          "2026-11-16T03:32:27.123Z error broken\n"
          "2026-11-16T03:32:27.123Z debug detail\n"
          "as it is\n  on two lines\n");
}

TEST_CASE("the journal gets priorities and no time, a terminal gets colours") {
    const Pipe pipe;
    {
        LogOutput output(pipe.in(), {.journal = true, .colours = false});
        for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error})
            output.write(record(level, "x"));
    }
    CHECK(pipe.content() == "<7>x\n<6>x\n<4>x\n<3>x\n");
    {
        LogOutput output(pipe.in(), {.journal = false, .colours = true});
        output.write(record(LogLevel::info, "x"));
        output.write(record(LogLevel::error, "x"));
    }
    CHECK(pipe.content() == "2026-11-16T03:32:27.123Z info  x\n2026-11-16T03:32:27.123Z \x1b[31merror\x1b[0m x\n");
}

TEST_CASE("the style fits the reader: the journal's own stream, else no colours but on a terminal") {
    const Pipe pipe;
    struct stat about{};
    REQUIRE(::fstat(pipe.in(), &about) == 0);
    const std::string ours = fmt::format("{}:{}", about.st_dev, about.st_ino);
    CHECK(log_style_for(pipe.in(), ours.c_str(), nullptr).journal);
    CHECK_FALSE(log_style_for(pipe.in(), "1:2", nullptr).journal);
    CHECK_FALSE(log_style_for(pipe.in(), nullptr, nullptr).journal);
    CHECK_FALSE(log_style_for(pipe.in(), nullptr, nullptr).colours);

    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) return;
    CHECK(log_style_for(terminal, nullptr, nullptr).colours);
    CHECK(log_style_for(terminal, "1:2", "").colours);
    CHECK_FALSE(log_style_for(terminal, nullptr, "1").colours);
    ::close(terminal);
}

TEST_CASE(
    "fault 16: with a pipe that nobody reads no caller waits, lines are dropped and counted, and the end comes soon") {
    const Pipe pipe;
    LogOutput output(pipe.in(), {});
    const std::string line(1'000, 'x');
    constexpr std::uint64_t lines = 3 * LogOutput::lines_waiting_max;
    Duration slowest{0};
    for (std::uint64_t i = 0; i < lines; ++i)
        slowest = std::max(slowest, time_of([&] { output.write(record(LogLevel::info, line)); }));
    CHECK(slowest < blocked);
    CHECK(output.dropped() >= LogOutput::lines_waiting_max);
    CHECK(time_of([&] { output.close(); }) < blocked);

    // What the pipe took and what was dropped is all there was; a line may have been cut by the full pipe.
    const std::string content = pipe.content();
    const auto written = static_cast<std::uint64_t>(std::count(content.begin(), content.end(), '\n'));
    CHECK(written > 0);
    CHECK(output.dropped() + written == lines);

    output.write(record(LogLevel::info, "after the end"));
    CHECK(output.dropped() + written == lines + 1);
}

TEST_CASE("fault 16: a full socket does not block either") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    {
        LogOutput output(ends[0], {});
        for (int i = 0; i < 2'000; ++i) output.write(record(LogLevel::info, std::string(1'000, 'x')));
        CHECK(time_of([&] { output.close(); }) < blocked);
        CHECK(output.dropped() > 0);
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("fault 16: a reader that comes back gets the newest lines") {
    const Pipe pipe;
    LogOutput output(pipe.in(), {});
    constexpr int lines = 2 * LogOutput::lines_waiting_max;
    for (int i = 0; i < lines; ++i)
        output.write(record(LogLevel::info, fmt::format("line {} {}", i, std::string(100, '.'))));
    std::string heard;
    const auto end = std::chrono::steady_clock::now() + blocked;
    while (heard.find(fmt::format("line {} ", lines - 1)) == std::string::npos) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        heard += pipe.content();
        std::this_thread::sleep_for(1ms);
    }
    CHECK(output.dropped() > 0);
}

TEST_CASE("fault 16: a reader that is gone costs lines, not the process") {
    Pipe pipe;
    pipe.close_end(0);
    LogOutput output(pipe.in(), {});
    for (int i = 0; i < 10; ++i) output.write(record(LogLevel::info, "nobody hears this"));
    output.close();
    CHECK(output.dropped() == 10);
}

TEST_CASE("fault 16: the descriptor we share with others stays as it was") {
    const Pipe pipe;
    const int before = ::fcntl(pipe.in(), F_GETFL);
    LogOutput output(pipe.in(), {});
    output.write(record(LogLevel::info, "x"));
    output.close();
    CHECK(::fcntl(pipe.in(), F_GETFL) == before);
}

TEST_CASE("a line too long is cut between two characters") {
    const Pipe pipe;
    std::string line = "x";
    while (line.size() <= LogOutput::line_bytes_max) line += "é";
    LogOutput output(pipe.in(), {.journal = true, .colours = false});
    output.write(record(LogLevel::info, line));
    output.close();
    const std::string content = pipe.content();
    CHECK(content.size() <= LogOutput::line_bytes_max + 4);
    CHECK(content.ends_with("é\n"));
}

TEST_CASE("any thread may write, and every line comes out whole") {
    const Pipe pipe;
    ::fcntl(pipe.in(), F_SETPIPE_SZ, 1 << 20);
    LogOutput output(pipe.in(), {.journal = true, .colours = false});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&output, t] {
            for (int i = 0; i < 500; ++i) output.write(record(LogLevel::info, fmt::format("thread {} line {}", t, i)));
        });
    for (std::thread& thread : threads) thread.join();
    output.close();
    const std::string content = pipe.content();
    CHECK(output.dropped() == 0);
    CHECK(std::count(content.begin(), content.end(), '\n') == 2'000);
    CHECK(content.find("<6>thread 3 line 499\n") != std::string::npos);
}
