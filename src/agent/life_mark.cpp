#include "agent/life_mark.h"

#include <sys/resource.h>

#include <charconv>

#include <fmt/format.h>

#include "agent/proc.h"

namespace muster {
namespace {

constexpr std::uint64_t least_mark = std::uint64_t{1} << 50;  // microseconds

}  // namespace

std::uint64_t life_mark(std::string_view life) {
    // FNV-1a: the same in every version of the agent.
    std::uint64_t hash = 14'695'981'039'346'656'037U;
    for (const char c : life) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
    return least_mark + hash % least_mark;
}

bool can_carry_marks() {
    rlimit limit{};
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0) return false;
    if (limit.rlim_max >= 2 * least_mark) return true;
    // Who is privileged has what they ask for, and keeps it: the limit limits nobody.
    limit.rlim_max = RLIM_INFINITY;
    return setrlimit(RLIMIT_RTTIME, &limit) == 0;
}

void carry_mark(std::uint64_t mark) {
    const rlimit limit{mark, mark};
    setrlimit(RLIMIT_RTTIME, &limit);
}

std::optional<std::uint64_t> mark_of(std::int32_t pid) {
    constexpr std::string_view name = "Max realtime timeout";
    const std::string limits = text_of_file(fmt::format("/proc/{}/limits", pid));
    const std::size_t line = limits.find(name);
    if (line == std::string::npos) return std::nullopt;
    const std::size_t at = limits.find_first_not_of(' ', line + name.size());
    if (at == std::string::npos) return std::nullopt;
    std::uint64_t mark = 0;
    std::from_chars(limits.data() + at, limits.data() + limits.size(), mark);
    return mark >= least_mark ? std::optional(mark) : std::nullopt;
}

}  // namespace muster
