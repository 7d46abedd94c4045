#include "cluster/cell_questions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster {
namespace {

constexpr std::string_view api_base = "/api/v1/";
constexpr unsigned status_ok = 200;
constexpr unsigned status_not_found = 404;
constexpr unsigned status_away = 503;

struct ListPath {
    std::string_view path;
    std::string_view key;
};
// The name of the rows is that of the path.
constexpr std::array lists{ListPath{"servers", "id"},     ListPath{"matches", "lobby_id"}, ListPath{"players", "id"},
                           ListPath{"matchmakers", "id"}, ListPath{"hosts", "name"},       ListPath{"regions", "id"}};
// What is about one thing that one cell has.
constexpr std::array about_one{"servers/", "matches/", "players/", "hosts/", "regions/"};
constexpr std::array of_cluster{"operators", "blocks", "me", "clock"};

struct KeyedRow {
    boost::json::value key;
    std::string_view text;
};

bool comes_before(const boost::json::value& one, const boost::json::value& other) {
    if (one.is_string() && other.is_string()) return one.get_string() < other.get_string();
    if (one.is_number() && other.is_number()) return one.to_number<double>() < other.to_number<double>();
    return one.is_number() && !other.is_number();
}

}  // namespace

bool is_away(const CellAnswer& answer) {
    return !answer.response || answer.response->status == status_away;
}

std::vector<std::string> missing_cells(const std::vector<CellAnswer>& answers) {
    std::vector<std::string> missing;
    for (const CellAnswer& answer : answers)
        if (is_away(answer)) missing.push_back(answer.cell);
    return missing;
}

HttpResponse no_answer_of(const std::vector<std::string>& cells) {
    return http_error(status_away, fmt::format("No answer of cell {}; ask again", fmt::join(cells, ", ")));
}

std::string partial_fields(const std::vector<std::string>& missing) {
    if (missing.empty()) return {};
    boost::json::array names;
    for (const std::string& name : missing) names.emplace_back(name);
    return ",\"partial\":true,\"missing_cells\":" + boost::json::serialize(names);
}

std::vector<std::string_view> row_texts(std::string_view body) {
    std::vector<std::string_view> rows;
    int depth = 0;
    bool is_text = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < body.size(); ++i) {
        const char letter = body[i];
        if (is_text) {
            if (letter == '\\') ++i;
            is_text = letter != '"';
        } else if (letter == '"') {
            is_text = true;
        } else if (letter == '{' || letter == '[') {
            // Inside the object and its list.
            if (++depth == 3 && letter == '{') begin = i;
        } else if (letter == '}' || letter == ']') {
            if (depth-- == 3 && letter == '}') rows.push_back(body.substr(begin, i + 1 - begin));
        }
    }
    return rows;
}

CellQuestion cell_question_of(const HttpRequest& request) {
    using Kind = CellQuestion::Kind;
    std::string_view path = request.path;
    if (!path.starts_with(api_base)) return {};
    path.remove_prefix(api_base.size());
    const bool is_read = request.method == "GET" || request.method == "HEAD";
    for (const ListPath& list : lists)
        if (is_read && path == list.path) return {Kind::list, std::string(list.path), std::string(list.key)};
    if (request.method == "POST" && path == "matches") return {Kind::region};
    if (request.method == "PUT" && path.starts_with("matches/") && path.ends_with("/players")) return {Kind::all};
    if (is_read && path == "overview") return {Kind::overview};
    if (is_read && path == "overview/history") return {Kind::history};
    if (is_read && path == "events") return {Kind::events};
    if (request.method == "POST" && path == "servers/drain") return {Kind::drain};
    for (const std::string_view prefix : about_one)
        if (path.starts_with(prefix)) return {Kind::find};
    for (const std::string_view prefix : of_cluster)
        if (path == prefix || (path.starts_with(prefix) && path[prefix.size()] == '/')) return {Kind::first};
    return {};
}

std::optional<std::string> region_in_body(const std::string& body) {
    boost::system::error_code problem;
    const boost::json::value parsed = boost::json::parse(body, problem);
    if (problem || !parsed.is_object()) return std::nullopt;
    const auto* region = parsed.get_object().if_contains("region");
    if (region && region->is_int64()) return std::to_string(region->get_int64());
    if (region && region->is_string()) return std::string(region->get_string().data(), region->get_string().size());
    return std::nullopt;
}

HttpResponse merged_lists(const CellQuestion& question, std::size_t limit, std::vector<CellAnswer> answers) {
    const std::vector<std::string> missing = missing_cells(answers);
    if (missing.size() == answers.size()) return no_answer_of(missing);
    std::vector<KeyedRow> rows;
    // A cell that has more than it told: its other rows come before those of others beyond its last.
    std::optional<boost::json::value> bound;
    for (CellAnswer& answer : answers) {
        if (is_away(answer)) continue;
        if (answer.response->status != status_ok) return std::move(*answer.response);
        boost::system::error_code problem;
        const boost::json::value parsed = boost::json::parse(answer.response->body, problem);
        if (problem || !parsed.is_object()) return no_answer_of({answer.cell});
        const auto* list = parsed.get_object().if_contains(question.list);
        const auto* next = parsed.get_object().if_contains("next");
        const auto texts = row_texts(answer.response->body);
        if (!list || !list->is_array() || list->get_array().size() != texts.size()) return no_answer_of({answer.cell});
        if (next && !next->is_null() && (!bound || comes_before(*next, *bound))) bound = *next;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const boost::json::value& row = list->get_array()[i];
            const auto* key = row.is_object() ? row.get_object().if_contains(question.key) : nullptr;
            if (key) rows.push_back({*key, texts[i]});
        }
    }
    std::ranges::stable_sort(rows, comes_before, &KeyedRow::key);
    // A matchmaker is in all cells.
    const auto same = std::ranges::unique(rows, {}, &KeyedRow::key);
    rows.erase(same.begin(), same.end());
    if (bound) std::erase_if(rows, [&](const KeyedRow& row) { return comes_before(*bound, row.key); });
    const bool has_more = bound || rows.size() > limit;
    if (rows.size() > limit) rows.resize(limit);

    std::string body = fmt::format("{{\"{}\":[", question.list);
    for (std::size_t i = 0; i < rows.size(); ++i) body.append(i == 0 ? "" : ",").append(rows[i].text);
    body += "],\"next\":";
    body += has_more && !rows.empty() ? boost::json::serialize(rows.back().key) : "null";
    body += partial_fields(missing);
    return {status_ok, "application/json", body + "}\n"};
}

HttpResponse found_answer(std::vector<CellAnswer> answers) {
    const std::vector<std::string> missing = missing_cells(answers);
    HttpResponse unknown;
    for (CellAnswer& answer : answers) {
        if (is_away(answer)) continue;
        if (answer.response->status != status_not_found) return std::move(*answer.response);
        unknown = std::move(*answer.response);
    }
    return missing.empty() ? unknown : no_answer_of(missing);
}

HttpResponse joint_answer(std::vector<CellAnswer> answers) {
    const std::vector<std::string> missing = missing_cells(answers);
    for (CellAnswer& answer : answers)
        if (!is_away(answer) && answer.response->status != status_ok) return std::move(*answer.response);
    return missing.empty() ? std::move(*answers.front().response) : no_answer_of(missing);
}

HttpResponse merged_drains(std::vector<CellAnswer> answers) {
    if (const auto missing = missing_cells(answers); !missing.empty()) return no_answer_of(missing);
    std::int64_t servers = 0;
    bool draining = false;
    std::optional<std::set<std::int64_t>> unknown;  // to all so far
    HttpResponse none_known;
    for (CellAnswer& answer : answers) {
        if (answer.response->status == status_not_found) {
            none_known = std::move(*answer.response);
            continue;
        }
        if (answer.response->status != status_ok) return std::move(*answer.response);
        boost::system::error_code problem;
        const boost::json::value parsed = boost::json::parse(answer.response->body, problem);
        const auto* object = problem ? nullptr : parsed.if_object();
        const auto* count = object ? object->if_contains("servers") : nullptr;
        const auto* list = object ? object->if_contains("missing") : nullptr;
        const auto* is_draining = object ? object->if_contains("draining") : nullptr;
        if (!count || !count->is_int64() || !list || !list->is_array() || !is_draining || !is_draining->is_bool())
            return no_answer_of({answer.cell});
        servers += count->get_int64();
        draining = is_draining->get_bool();
        std::set<std::int64_t> of_cell;
        for (const boost::json::value& id : list->get_array())
            if (id.is_int64() && (!unknown || unknown->contains(id.get_int64()))) of_cell.insert(id.get_int64());
        unknown = std::move(of_cell);
    }
    if (!unknown) return none_known;
    return {status_ok, "application/json",
            fmt::format("{{\"draining\":{},\"servers\":{},\"missing\":[{}]}}\n", draining, servers,
                        fmt::join(*unknown, ","))};
}

}  // namespace muster
