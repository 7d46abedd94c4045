#include "cli/region_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/figures.h"
#include "cli/terminal.h"

namespace muster {
namespace {

constexpr double almost_full = 0.9;

Cell count_cell(const JsonValue& count, Style style) {
    return {fmt::to_string(count.integer()), count.integer() > 0 ? style : Style::dim};
}

}  // namespace

TextTable region_table(const JsonValue& regions) {
    constexpr auto right = Column::Align::right;
    const bool noted =
        std::ranges::any_of(regions.items(), [](const JsonValue& region) { return region["brake"].flag(); });
    TextTable table({{"REGION"},
                     {"AVAILABLE", right},
                     {"FULL", right},
                     {"DRAINING", right, 4},
                     {"OFFLINE", right},
                     {"MATCHES", right},
                     {"LOAD", right, 3},
                     {"CPU", right, 1},
                     {"MEMORY", right, 2},
                     {"REQUESTS", right},
                     {"FAILED", right},
                     {noted ? "NOTE" : ""}});
    for (const JsonValue& region : regions.items()) {
        const JsonValue servers = region["servers"];
        const auto load = static_cast<double>(region["load"].integer());
        const auto capacity = static_cast<double>(region["capacity"].integer());
        const LoadText used = load_text(region["cpu_percent"], region["memory_percent"]);
        table.add({{safe_text(region["name"].text())},
                   count_cell(servers["available"], Style::green),
                   count_cell(servers["full"], Style::yellow),
                   count_cell(servers["draining"], Style::yellow),
                   count_cell(servers["offline"], Style::red),
                   {fmt::format("{}/{}", region["load"].integer(), region["capacity"].integer())},
                   {share_text(load, capacity), load > almost_full * capacity ? Style::yellow : Style::plain},
                   {used.cpu},
                   {used.memory},
                   {fmt::to_string(region["requests"].integer())},
                   count_cell(region["failures"], Style::red),
                   {region["brake"].flag() ? "many silent at once" : "", Style::red}});
    }
    return table;
}

}  // namespace muster
