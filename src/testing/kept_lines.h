// A log that keeps its lines, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace muster {

class KeptLines final : public LogSink {
public:
    void write(const LogRecord& record) noexcept override {
        const std::scoped_lock lock(mutex_);
        lines.emplace_back(record.line);
    }

    // Of any thread, while others write.
    std::size_t count(std::string_view part) const {
        const std::scoped_lock lock(mutex_);
        return static_cast<std::size_t>(std::count_if(
            lines.begin(), lines.end(), [part](const std::string& line) { return line.find(part) != line.npos; }));
    }
    bool has(std::string_view part) const { return count(part) > 0; }
    // The latest line; empty when there is none.
    std::string last() const {
        const std::scoped_lock lock(mutex_);
        return lines.empty() ? std::string() : lines.back();
    }

    std::vector<std::string> lines;  // while nobody writes

private:
    mutable std::mutex mutex_;
};

}  // namespace muster
