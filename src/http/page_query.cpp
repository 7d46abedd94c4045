#include "http/page_query.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace muster {

std::optional<std::int64_t> parse_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::int64_t> QueryReader::number(std::string_view name, std::int64_t least) {
    known_.push_back(name);
    const auto given = request_.query_value(name);
    if (!given) return std::nullopt;
    const auto value = parse_number(*given);
    if (value && *value >= least) return value;
    wrong(fmt::format("{} must be a whole number of at least {}", name, least));
    return std::nullopt;
}

std::string QueryReader::text(std::string_view name) {
    known_.push_back(name);
    return request_.query_value(name).value_or("");
}

std::optional<std::size_t> QueryReader::choice(std::string_view name, std::initializer_list<std::string_view> choices) {
    known_.push_back(name);
    const auto given = request_.query_value(name);
    if (!given) return std::nullopt;
    const auto found = std::find(choices.begin(), choices.end(), *given);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
    wrong(fmt::format("{} must be one of: {}", name, fmt::join(choices, ", ")));
    return std::nullopt;
}

std::size_t QueryReader::limit() {
    const auto limit = number("limit", 1);
    if (limit && *limit > limit_max) wrong(fmt::format("limit is at most {}", limit_max));
    return static_cast<std::size_t>(limit.value_or(limit_usual));
}

std::optional<std::string> QueryReader::error() {
    std::string_view rest = request_.query;
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
        const std::string_view name = pair.substr(0, pair.find('='));
        if (name.empty() || std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
        wrong(known_.empty() ? "This takes no query"
                             : fmt::format("Unknown parameter in the query; known are: {}", fmt::join(known_, ", ")));
    }
    return error_;
}

void QueryReader::wrong(std::string text) {
    if (!error_) error_ = std::move(text);
}

}  // namespace muster
