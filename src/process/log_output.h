// Where log lines leave the process: standard error, by a thread of its own, so that no caller ever waits (fault 16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/log.h"
#include "base/time.h"

namespace muster {

struct LogStyle {
    bool journal = false;  // lines begin with the journal's priority and have no time, which the journal adds
    bool colours = false;
};

// What suits the reader of `fd`: the journal when it is the stream that JOURNAL_STREAM names, colours when it is a
// terminal and NO_COLOR is not set. Either text may be null.
LogStyle log_style_for(int fd, const char* journal_stream, const char* no_color);

// Writes `2026-11-16T03:32:27.123Z info  line`. Any thread may write.
//
// A reader that falls behind costs lines, the oldest of those waiting, and never time: they are counted.
class LogOutput final : public LogSink {
public:
    static constexpr std::size_t lines_waiting_max = 8'192;
    static constexpr std::size_t line_bytes_max = 8'192;  // the rest of a longer line is cut off
    // How long close() goes on trying to get rid of what waits.
    static constexpr std::chrono::milliseconds close_limit{500};

    // Writes to a duplicate of `fd`, which the caller keeps.
    LogOutput(int fd, LogStyle style);
    ~LogOutput() override;

    void write(const LogRecord& record) noexcept override;

    // Text for a person at a terminal, as it is, in line with the rest.
    void print(std::string_view text) noexcept;

    // Lines that nobody could read: overrun while waiting, refused by the reader, or left at the close.
    std::uint64_t dropped() const;

    // Writes what waits, for at most `close_limit`, and ends the thread. What is written later is dropped.
    // Not from two threads at once.
    void close() noexcept;

private:
    class Writer;
    class Queue;
    std::unique_ptr<Writer> writer_;
    std::unique_ptr<Queue> queue_;
};

}  // namespace muster
