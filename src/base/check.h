// Checks of our own calls. They stay on in release: a broken invariant ends the process with what it knows (fault 14).
// Never use them on data from outside.
#pragma once

#include <string_view>

namespace muster {

// Writes the place, the broken rule and the call stack to standard error, then aborts.
[[noreturn]] void check_failed(std::string_view condition, std::string_view why, const char* file, int line) noexcept;

}  // namespace muster

#define MUSTER_CHECK(condition, why)                                     \
    do {                                                                 \
        if (!(condition)) [[unlikely]]                                   \
            ::muster::check_failed(#condition, why, __FILE__, __LINE__); \
    } while (false)
