#include "base/planted.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace muster {
namespace {

constexpr const char* variable = "MUSTER_PLANTED_BUG";
constexpr int exit_usage = 64;

// In the order of the enum, from the first that is a bug on.
constexpr std::array names{
#define MUSTER_BUG(name, breaks, wrong) std::string_view(#name),
#include "base/planted_bugs.inc"
#undef MUSTER_BUG
};

Bug chosen() {
    const char* wanted = std::getenv(variable);
    if (!wanted || *wanted == '\0') return Bug::none;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == wanted) return static_cast<Bug>(i + 1);
    }
    std::fprintf(stderr, "%s: there is no planted bug '%s'; tools/zoo.py --list names them\n", variable, wanted);
    std::_Exit(exit_usage);
}

// Before it is set, none is live.
const Bug live = chosen();

}  // namespace

bool planted(Bug bug) {
    return bug == live;
}

}  // namespace muster
