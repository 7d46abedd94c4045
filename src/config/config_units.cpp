#include "config/config_units.h"

#include <charconv>
#include <limits>
#include <span>

#include <fmt/core.h>

#include "base/check.h"

namespace muster {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t size;
};

// Ascending, so that the last one that divides a value is the largest.
constexpr Unit time_units[] = {
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}, {"d", 86'400'000'000'000},
};
constexpr Unit size_units[] = {
    {"", 1},
    {"KiB", std::int64_t{1} << 10},
    {"MiB", std::int64_t{1} << 20},
    {"GiB", std::int64_t{1} << 30},
    {"TiB", std::int64_t{1} << 40},
};
constexpr std::int64_t said_in_seconds_max = 120'000'000'000;

std::optional<std::int64_t> parse(std::string_view text, std::span<const Unit> units) {
    // from_chars would take a minus sign.
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    std::int64_t count = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, count);
    if (error != std::errc{}) return std::nullopt;
    const std::string_view name(end, static_cast<std::size_t>(last - end));
    for (const Unit& unit : units) {
        if (unit.name != name) continue;
        if (count > std::numeric_limits<std::int64_t>::max() / unit.size) return std::nullopt;
        return count * unit.size;
    }
    return std::nullopt;
}

const Unit& largest_exact(std::int64_t value, std::span<const Unit> units) {
    const Unit* best = &units.front();
    for (const Unit& unit : units)
        if (value != 0 && value % unit.size == 0) best = &unit;
    return *best;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
    const auto nanoseconds = parse(text, time_units);
    if (!nanoseconds) return std::nullopt;
    return Duration(*nanoseconds);
}

std::string to_text(Duration duration) {
    const std::int64_t value = duration.count();
    MUSTER_CHECK(value >= 0 && value % time_units[0].size == 0, "a setting is in whole milliseconds");
    const Unit& seconds = time_units[1];
    const bool short_enough = value <= said_in_seconds_max && value % seconds.size == 0;
    const Unit& unit = short_enough ? seconds : largest_exact(value, time_units);
    return fmt::format("{}{}", value / unit.size, unit.name);
}

std::optional<ByteSize> parse_byte_size(std::string_view text) {
    const auto bytes = parse(text, size_units);
    if (!bytes) return std::nullopt;
    return ByteSize{*bytes};
}

std::string to_text(ByteSize size) {
    const Unit& unit = largest_exact(size.bytes, size_units);
    return fmt::format("{}{}", size.bytes / unit.size, unit.name);
}

}  // namespace muster
