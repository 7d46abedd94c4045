#include "cluster/cell_readiness.h"

#include <string>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace muster {
namespace {

constexpr std::string_view not_ready = "Not ready: ";

// None: the owner can serve. One of an earlier version does not know the question, and says so by another status.
std::optional<std::string> problem_of(const std::optional<HttpResponse>& answer) {
    if (!answer) return "no owner answers";
    if (answer->status != 503) return std::nullopt;
    boost::system::error_code fault;
    const boost::json::value parsed = boost::json::parse(answer->body, fault);
    const auto* error = !fault && parsed.is_object() ? parsed.get_object().if_contains("error") : nullptr;
    if (!error || !error->is_string()) return "its owner is not ready";
    std::string_view why = error->get_string();
    if (why.starts_with(not_ready)) why.remove_prefix(not_ready.size());
    return std::string(why);
}

}  // namespace

HttpResponse owner_readiness(const std::optional<HttpResponse>& answer) {
    if (const auto problem = problem_of(answer)) return http_error(503, fmt::format("{}{}", not_ready, *problem));
    return {200, "application/json", "{\"status\":\"ready\"}\n"};
}

HttpResponse cells_readiness(const std::vector<CellAnswer>& answers) {
    boost::json::array problems;
    std::string reasons;
    for (const CellAnswer& answer : answers) {
        const auto problem = problem_of(answer.response);
        if (!problem) continue;
        const std::string told = fmt::format("cell {}: {}", answer.cell, *problem);
        problems.emplace_back(told);
        reasons += (reasons.empty() ? "" : "; ") + told;
    }
    if (problems.empty()) return {200, "application/json", "{\"status\":\"ready\"}\n"};
    if (problems.size() == answers.size()) return http_error(503, fmt::format("{}{}", not_ready, reasons));
    return {200, "application/json",
            fmt::format("{{\"status\":\"ready\",\"not_ready\":{}}}\n", boost::json::serialize(problems))};
}

}  // namespace muster
