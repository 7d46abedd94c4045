#include "base/check.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <execinfo.h>
#include <unistd.h>

namespace muster {

void check_failed(std::string_view condition, std::string_view why, const char* file, int line) noexcept {
    std::fprintf(stderr, "muster: broken invariant at %s:%d: %.*s (%.*s)\n", file, line, static_cast<int>(why.size()),
                 why.data(), static_cast<int>(condition.size()), condition.data());
    std::fflush(stderr);
    constexpr int frames_max = 64;
    std::array<void*, frames_max> frames{};
    const int found = backtrace(frames.data(), frames_max);
    backtrace_symbols_fd(frames.data(), found, STDERR_FILENO);
    std::abort();
}

}  // namespace muster
