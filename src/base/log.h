// The structured log: a sentence for people and named fields for programs, handed to a sink that never blocks.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/core.h>

#include "base/time.h"

namespace muster {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

std::string_view to_string(LogLevel level);

struct LogField {
    std::string_view name;
    std::variant<std::int64_t, double, bool, std::string_view> value;

    LogField(std::string_view n, std::string_view v) : name(n), value(v) {}
    LogField(std::string_view n, const char* v) : name(n), value(std::string_view(v)) {}
    LogField(std::string_view n, const std::string& v) : name(n), value(std::string_view(v)) {}
    LogField(std::string_view n, bool v) : name(n), value(v) {}
    LogField(std::string_view n, double v) : name(n), value(v) {}
    template <std::integral Number>
    LogField(std::string_view n, Number v) : name(n), value(static_cast<std::int64_t>(v)) {}
};

using LogFields = std::initializer_list<LogField>;

// One finished line: text, then ` name=value` for each field. What safe_text() escapes is escaped already.
struct LogRecord {
    LogLevel level;
    UnixMs time;
    std::string_view line;
};

// Where lines go. Called from any thread; must return without waiting for the outside world.
class LogSink {
public:
    virtual ~LogSink() = default;
    virtual void write(const LogRecord& record) noexcept = 0;
};

// Any thread. Holds back floods: of one message (one format text) at most `burst` lines pass in `window`, half of them
// only for a field "peer" that had none in it. The next line that passes, or tell_held_back(), says how many did not.
class Log {
public:
    static constexpr std::uint32_t burst = 20;
    static constexpr std::chrono::seconds window{10};

    // The sink and the clock outlive the log.
    Log(const Clock& clock, LogSink& sink, LogLevel least = LogLevel::info);
    ~Log();

    template <class... Args>
    void debug(fmt::format_string<Args...> message, Args&&... args) {
        write(LogLevel::debug, {}, message, fmt::make_format_args(args...));
    }
    template <class... Args>
    void info(fmt::format_string<Args...> message, Args&&... args) {
        write(LogLevel::info, {}, message, fmt::make_format_args(args...));
    }
    template <class... Args>
    void warning(fmt::format_string<Args...> message, Args&&... args) {
        write(LogLevel::warning, {}, message, fmt::make_format_args(args...));
    }
    template <class... Args>
    void error(fmt::format_string<Args...> message, Args&&... args) {
        write(LogLevel::error, {}, message, fmt::make_format_args(args...));
    }
    // The same with fields: log.with(LogLevel::info, {{"port", "servers"}}, "Listening").
    template <class... Args>
    void with(LogLevel level, LogFields fields, fmt::format_string<Args...> message, Args&&... args) {
        write(level, fields, message, fmt::make_format_args(args...));
    }

    void set_least(LogLevel least) { least_.store(least, std::memory_order_relaxed); }
    LogLevel least() const { return least_.load(std::memory_order_relaxed); }

    // Says how many lines were held back in windows that are over and that nothing has followed. To be called every
    // second or so.
    void tell_held_back();

    // Lines held back by the limit so far.
    std::uint64_t suppressed() const { return suppressed_.load(std::memory_order_relaxed); }

private:
    class Limits;

    void write(LogLevel level, LogFields fields, fmt::string_view message, fmt::format_args args);

    const Clock& clock_;
    LogSink& sink_;
    std::atomic<LogLevel> least_;
    std::atomic<std::uint64_t> suppressed_{0};
    std::unique_ptr<Limits> limits_;
};

}  // namespace muster
