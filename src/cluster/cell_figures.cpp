#include "cluster/cell_figures.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/json_fields.h"
#include "base/quantile.h"
#include "http/overview_history.h"

namespace muster {
namespace {

namespace json = boost::json;

// What becomes of two figures of one name.
enum class Rule : std::uint8_t { sum, greatest, least, first, all, any };

struct NamedRule {
    std::string_view name;
    Rule rule;
};
// All others are sums.
constexpr std::array rules{
    NamedRule{"time_ms", Rule::greatest},
    NamedRule{"version", Rule::first},
    NamedRule{"node", Rule::first},
    NamedRule{"uptime_s", Rule::least},  // what is counted is counted since then at least
    NamedRule{"had_servers", Rule::any},
    NamedRule{"buckets_ms", Rule::first},
    NamedRule{"clock", Rule::first},
    NamedRule{"ticks_per_second", Rule::least},
    NamedRule{"tick_avg_ms", Rule::greatest},
    NamedRule{"tick_max_ms", Rule::greatest},
    NamedRule{"up", Rule::all},
    NamedRule{"matchmakers", Rule::greatest},  // one is in all cells
};
// An overview is no deeper.
constexpr int depth_max = 5;

Rule rule_of(std::string_view name) {
    const auto* const found = std::ranges::find(rules, name, &NamedRule::name);
    return found != rules.end() ? found->rule : Rule::sum;
}

bool is_whole(const json::value& value) {
    return value.is_int64() || value.is_uint64();
}

json::value merged_number(const json::value& one, const json::value& other, Rule rule) {
    const bool takes_other = rule == Rule::greatest ? other.to_number<double>() > one.to_number<double>()
                                                    : other.to_number<double>() < one.to_number<double>();
    if (rule == Rule::greatest || rule == Rule::least) return takes_other ? other : one;
    if (is_whole(one) && is_whole(other)) return one.to_number<std::int64_t>() + other.to_number<std::int64_t>();
    return one.to_number<double>() + other.to_number<double>();
}

// What is not of one kind stays as it was. Not deeper than `depth`.
void merge(json::value& into, const json::value& from, Rule rule, int depth) {
    if (rule == Rule::first || depth == 0) return;
    if (into.is_number() && from.is_number()) {
        into = merged_number(into, from, rule);
    } else if (into.is_bool() && from.is_bool()) {
        into = rule == Rule::any ? into.get_bool() || from.get_bool() : into.get_bool() && from.get_bool();
    } else if (into.is_object() && from.is_object()) {
        for (const auto& [name, value] : from.get_object()) {
            json::value* known = into.get_object().if_contains(name);
            if (known)
                merge(*known, value, rule_of(name), depth - 1);
            else
                into.get_object().emplace(name, value);
        }
    } else if (into.is_array() && from.is_array()) {
        json::array& list = into.get_array();
        for (std::size_t i = 0; i < from.get_array().size(); ++i) {
            const json::value& item = from.get_array()[i];
            if (item.is_number() && i < list.size())
                merge(list[i], item, Rule::sum, depth - 1);
            else
                list.push_back(item);
        }
    }
}

void sort_regions(json::value& of) {
    json::value* regions = of.get_object().if_contains("regions");
    if (!regions || !regions->is_array()) return;
    const auto id_of = [](const json::value& region) {
        const json::value* id = region.is_object() ? region.get_object().if_contains("id") : nullptr;
        return id && is_whole(*id) ? id->to_number<std::int64_t>() : 0;
    };
    std::ranges::stable_sort(regions->get_array(), {}, id_of);
}

void write(FieldSink& out, std::string_view name, const json::value& value, int depth) {
    if (is_whole(value)) {
        out.integer(name, value.to_number<std::int64_t>());
    } else if (value.is_string()) {
        out.text(name, std::string_view(value.get_string().data(), value.get_string().size()));
    } else if (value.is_bool()) {
        out.flag(name, value.get_bool());
    } else if (value.is_object() && depth > 0) {
        out.begin_object(name);
        for (const auto& [field, inner] : value.get_object()) write(out, field, inner, depth - 1);
        out.end_object();
    } else if (value.is_array() && depth > 0) {
        out.begin_list(name);
        for (const json::value& inner : value.get_array()) write(out, {}, inner, depth - 1);
        out.end_list();
    } else {
        out.real(name, value.is_double() ? value.get_double() : std::numeric_limits<double>::quiet_NaN());
    }
}

// The object that each cell answered with; or the answer to all of it.
struct Objects {
    std::vector<json::value> of_cells{};
    std::vector<std::string> missing{};
    std::optional<HttpResponse> answer{};
};

Objects objects_of(std::vector<CellAnswer> answers) {
    Objects objects;
    objects.missing = missing_cells(answers);
    if (objects.missing.size() == answers.size()) objects.answer = no_answer_of(objects.missing);
    for (CellAnswer& answer : answers) {
        if (objects.answer) break;
        if (is_away(answer)) continue;
        if (answer.response->status != 200) {
            objects.answer = std::move(*answer.response);
            break;
        }
        boost::system::error_code problem;
        json::value parsed = json::parse(answer.response->body, problem);
        if (problem || !parsed.is_object())
            objects.answer = no_answer_of({answer.cell});
        else
            objects.of_cells.push_back(std::move(parsed));
    }
    return objects;
}

struct Verdict {
    std::string status = "ok";
    std::vector<std::string> reasons{};

    void add(std::string_view said, std::string reason) {
        if (said == "bad" || status == "ok") status = said;
        // What is of a node or of the store all its cells say.
        if (!reason.empty() && std::ranges::find(reasons, reason) == reasons.end())
            reasons.push_back(std::move(reason));
    }
};

Verdict verdict_of(const Objects& objects) {
    Verdict verdict;
    for (const std::string& cell : objects.missing) verdict.add("bad", "No answer of cell " + cell);
    for (const json::value& overview : objects.of_cells) {
        const json::value* health = overview.get_object().if_contains("health");
        const json::value* status =
            health && health->is_object() ? health->get_object().if_contains("status") : nullptr;
        const json::value* reasons =
            health && health->is_object() ? health->get_object().if_contains("reasons") : nullptr;
        if (!status || !status->is_string() || !reasons || !reasons->is_array()) continue;
        const std::string said(status->get_string().data(), status->get_string().size());
        verdict.add(said, {});
        for (const json::value& reason : reasons->get_array())
            if (reason.is_string())
                verdict.add(said, std::string(reason.get_string().data(), reason.get_string().size()));
    }
    return verdict;
}

// Those of the summed counts.
void renew_percentiles(json::value& overview) {
    json::value* allocations = overview.get_object().if_contains("allocations");
    json::value* latency =
        allocations && allocations->is_object() ? allocations->get_object().if_contains("latency_ms") : nullptr;
    if (!latency || !latency->is_object()) return;
    std::vector<double> bounds;
    std::vector<std::uint64_t> counts;
    const json::value* buckets = latency->get_object().if_contains("buckets_ms");
    const json::value* counted = latency->get_object().if_contains("counts");
    if (!buckets || !buckets->is_array() || !counted || !counted->is_array()) return;
    for (const json::value& bound : buckets->get_array())
        if (bound.is_number()) bounds.push_back(bound.to_number<double>());
    for (const json::value& count : counted->get_array())
        if (is_whole(count)) counts.push_back(count.to_number<std::uint64_t>());
    if (counts.size() != bounds.size() + 1) return;
    for (const auto& [name, share] : {std::pair("p50_ms", 0.50), std::pair("p95_ms", 0.95), std::pair("p99_ms", 0.99)})
        allocations->get_object()[name] = quantile(bounds, counts, share);
}

std::int64_t time_of(const json::value& sample) {
    const json::value* time = sample.is_object() ? sample.get_object().if_contains("time_ms") : nullptr;
    return time && is_whole(*time) ? time->to_number<std::int64_t>() : 0;
}

// The samples of one cell, oldest first.
struct Samples {
    const json::array* list = nullptr;
    std::size_t next = 0;  // the first that is later than now

    std::int64_t slot(std::size_t place, std::int64_t every_ms) const { return time_of((*list)[place]) / every_ms; }
};

json::array merged_samples(std::vector<Samples> cells) {
    constexpr std::int64_t every_ms = std::chrono::milliseconds(OverviewHistory::every).count();
    json::array merged;
    std::int64_t begin = std::numeric_limits<std::int64_t>::min();
    std::int64_t end = begin;
    for (const Samples& cell : cells) {
        if (cell.list->empty()) return merged;
        begin = std::max(begin, cell.slot(0, every_ms));
        end = std::max(end, cell.slot(cell.list->size() - 1, every_ms));
    }
    begin = std::max(begin, end - static_cast<std::int64_t>(OverviewHistory::kept) + 1);
    for (std::int64_t slot = begin; slot <= end && !cells.empty(); ++slot) {
        bool is_new = false;
        for (Samples& cell : cells) {
            for (; cell.next < cell.list->size() && cell.slot(cell.next, every_ms) <= slot; ++cell.next)
                is_new |= cell.slot(cell.next, every_ms) == slot;
        }
        const bool all_have = std::ranges::all_of(cells, [](const Samples& cell) { return cell.next > 0; });
        if (!is_new || !all_have) continue;
        json::value sum = (*cells.front().list)[cells.front().next - 1];
        for (std::size_t i = 1; i < cells.size(); ++i)
            merge(sum, (*cells[i].list)[cells[i].next - 1], Rule::sum, depth_max);
        if (!sum.is_object()) continue;
        sort_regions(sum);
        merged.push_back(std::move(sum));
    }
    return merged;
}

HttpResponse answer_of(const json::value& merged, const std::vector<std::string>& missing,
                       const Verdict* verdict = nullptr) {
    JsonFields out;
    for (const auto& [name, value] : merged.get_object()) {
        if (name != "health" || !verdict) {
            write(out, name, value, depth_max);
            continue;
        }
        out.begin_object("health");
        out.text("status", verdict->status);
        out.begin_list("reasons");
        for (const std::string& reason : verdict->reasons) out.text({}, reason);
        out.end_list();
        out.end_object();
    }
    if (!missing.empty()) {
        out.flag("partial", true);
        out.begin_list("missing_cells");
        for (const std::string& cell : missing) out.text({}, cell);
        out.end_list();
    }
    return {200, "application/json", out.finish() + "\n"};
}

}  // namespace

HttpResponse merged_overviews(std::vector<CellAnswer> answers) {
    Objects objects = objects_of(std::move(answers));
    if (objects.answer) return std::move(*objects.answer);
    const Verdict verdict = verdict_of(objects);
    json::value merged = objects.of_cells.front();
    for (std::size_t i = 1; i < objects.of_cells.size(); ++i) merge(merged, objects.of_cells[i], Rule::sum, depth_max);
    sort_regions(merged);
    renew_percentiles(merged);
    return answer_of(merged, objects.missing, &verdict);
}

HttpResponse merged_histories(std::vector<CellAnswer> answers) {
    Objects objects = objects_of(std::move(answers));
    if (objects.answer) return std::move(*objects.answer);
    std::vector<Samples> cells;
    for (const json::value& history : objects.of_cells) {
        const json::value* samples = history.get_object().if_contains("samples");
        if (samples && samples->is_array()) cells.push_back({&samples->get_array()});
    }
    json::value merged = objects.of_cells.front();
    merged.get_object()["samples"] = merged_samples(std::move(cells));
    return answer_of(merged, objects.missing);
}

}  // namespace muster
