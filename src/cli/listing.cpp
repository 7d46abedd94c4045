#include "cli/listing.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {
namespace {

constexpr std::int64_t page_rows = 1000;

bool same_letters(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    });
}

}  // namespace

RegionNames::RegionNames(const JsonValue& answer) {
    for (const JsonValue& region : answer["regions"].items()) names_[region["id"].integer()] = region["name"].text();
}

RegionNames::RegionNames(const Config& config) {
    for (const auto& region : config.fleet.regions) names_[region.id.value] = region.name;
}

std::string RegionNames::name(std::int64_t id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? fmt::to_string(id) : safe_text(found->second);
}

std::int64_t RegionNames::id(std::string_view wanted) const {
    std::string known;
    for (const auto& [id, name] : names_) {
        if (same_letters(name, wanted) || fmt::to_string(id) == wanted) return id;
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", safe_text(name), id);
    }
    throw CommandFailure(exit_failed, fmt::format("no region {}; there are {}", safe_text(wanted), known));
}

namespace {

void check_limit(std::int64_t limit) {
    if (limit < 0) throw CommandFailure(to_int(ExitCode::usage), "--limit wants a whole number, or 0 for all");
}

}  // namespace

Listing list(ApiClient& api, const ListQuery& query) {
    check_limit(query.limit);
    Listing all;
    std::string after;
    do {
        const auto have = static_cast<std::int64_t>(all.rows.size());
        const std::int64_t want = query.limit == 0 ? page_rows : std::min(page_rows, query.limit - have);
        const JsonValue page = api.get(fmt::format("/{}?limit={}{}{}", query.name, want, query.filter, after));
        for (const JsonValue& row : page[query.name].items()) all.rows.push_back(row);
        all.next = page["next"];
        const std::string last = all.next.text().empty() ? all.next.to_json() : query_encoded(all.next.text());
        if (after == "&after=" + last)
            throw CommandFailure(exit_failed, "the daemon's list never ends: is this Muster?");
        after = "&after=" + last;
        if (page[query.name].items().empty()) break;
    } while (!all.next.is_null() && (query.limit == 0 || static_cast<std::int64_t>(all.rows.size()) < query.limit));
    return all;
}

void Listing::cut_to(std::int64_t limit, std::string_view id) {
    check_limit(limit);
    const auto most = static_cast<std::size_t>(limit);
    if (limit <= 0 || rows.size() <= most) return;
    rows.resize(most);
    next = rows.back()[id];
}

std::string Listing::to_json(std::string_view name) const {
    boost::json::array all;
    for (const JsonValue& row : rows) all.push_back(row.copy());
    boost::json::object answer;
    answer[{name.data(), name.size()}] = std::move(all);
    answer["next"] = next.copy();
    return JsonValue(std::move(answer)).to_json();
}

CommandOption json_option(bool& target) {
    return {"--json", "", "Print JSON instead of text", &target};
}

CommandOption limit_option(ListArguments& arguments) {
    return {"--limit", "N", "Show this many at most; 0 shows all", &arguments.limit};
}

int print_list(const TextTable& table, const Listing& listing, std::string_view nothing) {
    if (listing.rows.empty()) {
        print_error("{}\n", nothing);
        return 0;
    }
    const int code = to_int(print_result(table.to_text(colours_wanted())));
    if (!listing.next.is_null()) print_error("the first {} are shown; --limit 0 shows all\n", listing.rows.size());
    return code;
}

int print_json(const std::string& json) {
    return to_int(print_result(json + "\n"));
}

std::string described(const std::vector<std::pair<std::string, Cell>>& facts, bool colours, std::size_t columns) {
    std::size_t width = 0;
    for (const auto& [name, fact] : facts) width = std::max(width, shown_width(name));
    std::string text;
    for (const auto& [name, fact] : facts) {
        const std::string fill(width - shown_width(name), ' ');
        text += fmt::format("{}{}", colours ? styled(Style::bold, name) : name, fill);
        std::vector<std::string> lines{fact.text};
        const bool one_line = fact.text.find('\n') == std::string::npos;
        if (one_line && columns > width + 2 && shown_width(fact.text) > columns - width - 2)
            lines = wrapped(fact.text, columns - width - 2);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            text +=
                fmt::format("{:>{}}  {}\n", "", i == 0 ? 0 : width, colours ? styled(fact.style, lines[i]) : lines[i]);
        }
    }
    return text;
}

Style status_style(std::string_view status) {
    if (status == "available" || status == "ok" || status == "started") return Style::green;
    if (status == "offline" || status == "bad" || status == "aborted") return Style::red;
    if (status == "full" || status == "warn" || status == "draining") return Style::yellow;
    return Style::plain;
}

}  // namespace muster
