// A log that nobody reads: for the simulator, benchmarks and tests.
#pragma once

#include "base/log.h"

namespace muster {

class NoLog final : public LogSink {
public:
    void write(const LogRecord&) noexcept override {}
};

}  // namespace muster
