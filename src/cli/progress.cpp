#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {
namespace {

constexpr std::chrono::milliseconds redraw_every{200};
constexpr std::size_t bar_columns = 24;

std::string bar(double done) {
    const auto full = static_cast<std::size_t>(std::clamp(done, 0.0, 1.0) * static_cast<double>(bar_columns));
    return fmt::format("[{}{}] {:3.0f} %", std::string(full, '#'), std::string(bar_columns - full, '.'),
                       std::clamp(done, 0.0, 1.0) * 100);
}

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)) {
    if (!progress_wanted()) return;
    drawer_ = std::thread([this] {
        std::unique_lock lock(mutex_);
        ending_.wait_for(lock, quiet_for, [this] { return over_; });
        while (!over_) {
            draw();
            ending_.wait_for(lock, redraw_every, [this] { return over_; });
        }
        clear();
    });
}

Progress::~Progress() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    ending_.notify_all();
    if (drawer_.joinable()) drawer_.join();
}

void Progress::now(std::string what) {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
}

void Progress::share(double done) {
    const std::lock_guard lock(mutex_);
    done_ = done;
}

void Progress::draw() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began_);
    const std::string line =
        fmt::format("{}{} {} s", done_ < 0 ? std::string() : bar(done_) + " ", what_, seconds.count());
    // One short of the edge, where a terminal would begin a new line.
    const std::string_view fits = cut_to(line, std::max<std::size_t>(terminal_size(STDERR_FILENO).columns, 2) - 1);
    print_error("\r{}\x1b[K", fits);
    std::fflush(stderr);
    shown_ = true;
}

void Progress::clear() {
    if (!shown_) return;
    print_error("\r\x1b[K");
    std::fflush(stderr);
    shown_ = false;
}

}  // namespace muster
