#include "cli/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "base/safe_text.h"

namespace muster {
namespace {

std::tm local_time(std::int64_t unix_s) {
    const auto at = static_cast<std::time_t>(unix_s);
    std::tm parts{};
    localtime_r(&at, &parts);
    return parts;
}

}  // namespace

std::string span_text(double seconds) {
    if (seconds < 1) return fmt::format("{:.0f} ms", std::max(seconds, 0.0) * 1000);
    if (seconds < 60) return fmt::format("{:.1f} s", seconds);
    const auto minutes = static_cast<std::int64_t>(seconds / 60);
    if (minutes < 60) return fmt::format("{} min", minutes);
    if (minutes < 24 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
    return fmt::format("{} d {} h", minutes / (24 * 60), minutes / 60 % 24);
}

std::string short_number(double value) {
    return std::abs(value) < 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::string moment_text(std::int64_t unix_ms) {
    const std::tm at = local_time(unix_ms / 1000);
    const std::tm today = local_time(std::time(nullptr));
    std::string time = fmt::format("{:02}:{:02}:{:02}.{:03}", at.tm_hour, at.tm_min, at.tm_sec, unix_ms % 1000);
    if (at.tm_year == today.tm_year && at.tm_yday == today.tm_yday) return time;
    return fmt::format("{}-{:02}-{:02} {}", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday, time);
}

std::string share_text(double part, double whole) {
    return whole > 0 ? fmt::format("{:.0f} %", part / whole * 100) : "-";
}

LoadText load_text(const JsonValue& cpu_percent, const JsonValue& memory_percent) {
    if (cpu_percent.number() <= 0 && memory_percent.number() <= 0) return {"-", "-"};
    return {fmt::format("{:.0f} %", cpu_percent.number()), fmt::format("{:.0f} %", memory_percent.number())};
}

std::string round_trip_text(double milliseconds) {
    return milliseconds > 0 ? fmt::format("{:.1f} ms", milliseconds) : "-";
}

std::string endpoint_text(const JsonValue& row) {
    const std::string_view ip = row["ip"].text();
    const bool is_v6 = ip.find(':') != std::string_view::npos;
    return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", safe_text(ip), is_v6 ? "]" : "", row["port"].integer());
}

std::string clock_text(const JsonValue& clock) {
    constexpr std::array days{"Sun.", "Mon.", "Tue.", "Wed.", "Thu.", "Fri.", "Sat."};
    const std::int64_t day = std::clamp<std::int64_t>(clock["day"].integer(), 1, 7);
    return fmt::format("{} {:02}:{:02}, speed {}", days[static_cast<std::size_t>(day - 1)], clock["hour"].integer(),
                       clock["minute"].integer(), clock["speed"].integer());
}

}  // namespace muster
