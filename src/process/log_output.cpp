#include "process/log_output.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/thread_name.h"

namespace muster {

// What waits to be written.
struct WaitingLine {
    std::optional<LogLevel> level{};  // none: text that is written as it is
    std::chrono::system_clock::time_point time{};
    std::string text{};
};

namespace {

// How often a blocked writer looks whether it is being closed.
constexpr std::chrono::milliseconds poll_step{50};

struct LevelLook {
    std::string_view word;      // five wide
    std::string_view priority;  // of the journal
    std::string_view colour;
};

LevelLook look_of(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return {"debug", "<7>", "\x1b[2m"};
        case LogLevel::info:
            break;
        case LogLevel::warning:
            return {"warn ", "<4>", "\x1b[33m"};
        case LogLevel::error:
            return {"error", "<3>", "\x1b[31m"};
    }
    return {"info ", "<6>", ""};
}

void append_time(fmt::memory_buffer& out, std::chrono::system_clock::time_point time) {
    using namespace std::chrono;
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(floor<milliseconds>(time - day));
    fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                   static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                   clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

void append_line(fmt::memory_buffer& out, const LogStyle& style, const WaitingLine& line) {
    const auto append = [&out](std::string_view text) { out.append(text.data(), text.data() + text.size()); };
    if (line.level && style.journal) {
        append(look_of(*line.level).priority);
    } else if (line.level) {
        const LevelLook look = look_of(*line.level);
        append_time(out, line.time);
        out.push_back(' ');
        if (style.colours) append(look.colour);
        append(look.word);
        if (style.colours && !look.colour.empty()) append("\x1b[0m");
        out.push_back(' ');
    }
    append(line.text);
    out.push_back('\n');
}

// An own opening of what `fd` leads to, where that lets us write without waiting and without changing the descriptor
// that we share with whoever started us.
int own_descriptor(int fd) {
    struct stat about{};
    const bool can_reopen = ::fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || ::isatty(fd) == 1);
    if (can_reopen) {
        const std::string path = fmt::format("/proc/self/fd/{}", fd);
        const int own = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (own >= 0) return own;
    }
    const int duplicate = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0) throw std::system_error(errno, std::generic_category(), "cannot log to this descriptor");
    return duplicate;
}

// Signals go to the thread that waits for them; a broken pipe is an error code here.
void begin_thread() {
    name_this_thread("log");
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

std::string_view cut(std::string_view line) {
    if (line.size() <= LogOutput::line_bytes_max) return line;
    std::size_t end = LogOutput::line_bytes_max;
    // Not in the middle of a character.
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
    return line.substr(0, end);
}

}  // namespace

// Log thread, but for begin_close() and dropped().
class LogOutput::Writer {
public:
    Writer(int fd, LogStyle style) : fd_(own_descriptor(fd)), style_(style) {
        struct stat about{};
        is_socket_ = ::fstat(fd_, &about) == 0 && S_ISSOCK(about.st_mode);
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() { ::close(fd_); }

    // False when it was dropped.
    bool write(const WaitingLine& line) {
        bytes_.clear();
        append_line(bytes_, style_, line);
        const bool written = write_all({bytes_.data(), bytes_.size()});
        if (!written) add_dropped(1);
        return written;
    }

    void begin_close() {
        const auto end = std::chrono::steady_clock::now() + close_limit;
        close_at_.store(end.time_since_epoch().count(), std::memory_order_relaxed);
    }
    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
    void add_dropped(std::uint64_t lines) { dropped_.fetch_add(lines, std::memory_order_relaxed); }

private:
    static constexpr auto never = std::numeric_limits<std::chrono::steady_clock::rep>::max();
    // A pipe that polls as writable takes this much at once, even where we could not open it without waiting.
    static constexpr std::size_t chunk_bytes = 4096;

    // False when the reader is gone, or the time for closing is over.
    bool write_all(std::string_view rest) {
        while (!rest.empty()) {
            if (!wait_until_writable()) return false;
            const ssize_t sent = write_some(rest.substr(0, chunk_bytes));
            if (sent >= 0) {
                rest.remove_prefix(static_cast<std::size_t>(sent));
            } else if (errno != EINTR && errno != EAGAIN) {
                return false;
            } else if (time_left() == std::chrono::milliseconds::zero()) {
                return false;
            }
        }
        return true;
    }

    bool wait_until_writable() {
        for (;;) {
            const std::chrono::milliseconds left = time_left();
            pollfd waiting{fd_, POLLOUT, 0};
            const int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left, poll_step).count()));
            if (ready > 0) return (waiting.revents & (POLLERR | POLLNVAL)) == 0;
            if (ready < 0 && errno != EINTR) return false;
            if (left == std::chrono::milliseconds::zero()) return false;
        }
    }

    // Until lines are dropped rather than waited with: for ever, unless it is being closed.
    std::chrono::milliseconds time_left() const {
        const auto close_at = close_at_.load(std::memory_order_relaxed);
        if (close_at == never) return std::chrono::milliseconds::max();
        const std::chrono::steady_clock::duration left{close_at -
                                                       std::chrono::steady_clock::now().time_since_epoch().count()};
        return std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds::zero());
    }

    ssize_t write_some(std::string_view text) const {
        if (is_socket_) return ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return ::write(fd_, text.data(), text.size());
    }

    const int fd_;
    const LogStyle style_;
    bool is_socket_ = false;
    fmt::memory_buffer bytes_;

    // Any thread.
    std::atomic<std::chrono::steady_clock::rep> close_at_{never};
    std::atomic<std::uint64_t> dropped_{0};
};

// A bounded queue of lines, and the thread that writes them.
class LogOutput::Queue {
public:
    explicit Queue(Writer& writer) : writer_(writer), thread_([this] { run(); }) {}

    // A full queue loses its oldest line, a closed one this one.
    void push(WaitingLine line) {
        {
            const std::lock_guard lock(mutex_);
            if (closed_) return writer_.add_dropped(1);
            if (lines_.size() == lines_waiting_max) {
                lines_.pop_front();
                writer_.add_dropped(1);
            }
            lines_.push_back(std::move(line));
        }
        changed_.notify_one();
    }

    // Ends the thread once it has been through what waits.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_one();
        if (thread_.joinable()) thread_.join();
    }

private:
    void run() {
        begin_thread();
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return closed_ || !lines_.empty(); });
            if (lines_.empty()) return;
            const WaitingLine line = std::move(lines_.front());
            lines_.pop_front();
            lock.unlock();
            const bool written = writer_.write(line);
            lock.lock();
            if (written || !closed_) continue;
            // The reader is gone, or has had its time: the rest would fare no better.
            writer_.add_dropped(lines_.size());
            lines_.clear();
        }
    }

    Writer& writer_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<WaitingLine> lines_;  // guarded by mutex_
    bool closed_ = false;            // guarded by mutex_
    std::thread thread_;             // last: it begins at once
};

LogStyle log_style_for(int fd, const char* journal_stream, const char* no_color) {
    LogStyle style;
    struct stat about{};
    if (journal_stream && ::fstat(fd, &about) == 0) {
        // The variable is inherited by programs whose standard error leads elsewhere, so its device and inode count.
        style.journal = fmt::format("{}:{}", about.st_dev, about.st_ino) == journal_stream;
    }
    style.colours = !style.journal && ::isatty(fd) == 1 && (!no_color || *no_color == '\0');
    return style;
}

LogOutput::LogOutput(int fd, LogStyle style)
    : writer_(std::make_unique<Writer>(fd, style)), queue_(std::make_unique<Queue>(*writer_)) {}

LogOutput::~LogOutput() {
    close();
}

void LogOutput::write(const LogRecord& record) noexcept {
    try {
        const std::chrono::system_clock::time_point time{std::chrono::milliseconds(record.time.value)};
        queue_->push({.level = record.level, .time = time, .text = std::string(cut(record.line))});
    } catch (...) {
        // No memory for the line; the caller has better things to do than to fail for it.
        writer_->add_dropped(1);
    }
}

void LogOutput::print(std::string_view text) noexcept {
    try {
        queue_->push({.text = std::string(cut(text))});
    } catch (...) {
        writer_->add_dropped(1);
    }
}

std::uint64_t LogOutput::dropped() const {
    return writer_->dropped();
}

void LogOutput::close() noexcept {
    writer_->begin_close();
    queue_->close();
}

}  // namespace muster
