#include "cluster/cell_events.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "http/page_query.h"

namespace muster {
namespace {

constexpr std::string_view unknown_place = "n";
constexpr std::string_view event_begin = "{\"id\":";
constexpr const char* bad_cursor = "must be what an earlier answer gave as next, previous or latest";

struct EventRow {
    std::int64_t id = 0;
    std::int64_t time_ms = 0;
    std::string_view text;
};

// What a cell answered, its rows oldest first.
struct EventsOfCell {
    bool is_here = false;
    std::vector<EventRow> rows;
    std::optional<std::int64_t> next;
    std::optional<std::int64_t> previous;
    std::size_t begin = 0;  // the rows that are not taken yet
    std::size_t end = 0;

    bool is_all_taken() const { return begin == end; }
};

std::optional<std::int64_t> number_in(const boost::json::object& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    return value && value->is_int64() ? std::optional(value->get_int64()) : std::nullopt;
}

// False when it is not a page of events.
bool read_page(const std::string& body, EventsOfCell& into) {
    boost::system::error_code problem;
    const boost::json::value parsed = boost::json::parse(body, problem);
    if (problem || !parsed.is_object()) return false;
    const auto* list = parsed.get_object().if_contains("events");
    const auto texts = row_texts(body);
    if (!list || !list->is_array() || list->get_array().size() != texts.size()) return false;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto* row = list->get_array()[i].if_object();
        const auto id = row ? number_in(*row, "id") : std::nullopt;
        const auto time = row ? number_in(*row, "time_ms") : std::nullopt;
        if (!id || !time) return false;
        into.rows.push_back({*id, *time, texts[i]});
    }
    into.next = number_in(parsed.get_object(), "next");
    into.previous = number_in(parsed.get_object(), "previous");
    into.end = into.rows.size();
    into.is_here = true;
    return true;
}

struct TakenEvent {
    std::size_t cell;
    const EventRow* row;
};

// From the oldest on. Beyond the last row of a cell that has more, nobody knows what comes first.
std::vector<TakenEvent> take_newer(std::vector<EventsOfCell>& cells, std::size_t limit) {
    std::vector<TakenEvent> taken;
    while (taken.size() < limit) {
        std::optional<std::size_t> best;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (cells[i].is_all_taken() && cells[i].next) return taken;
            if (cells[i].is_all_taken()) continue;
            if (!best || cells[i].rows[cells[i].begin].time_ms < cells[*best].rows[cells[*best].begin].time_ms)
                best = i;
        }
        if (!best) return taken;
        taken.push_back({*best, &cells[*best].rows[cells[*best].begin++]});
    }
    return taken;
}

// The same from the newest on; oldest first all the same.
std::vector<TakenEvent> take_older(std::vector<EventsOfCell>& cells, std::size_t limit) {
    std::vector<TakenEvent> taken;
    const auto take = [&] {
        std::optional<std::size_t> best;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (cells[i].is_all_taken() && cells[i].previous) return false;
            if (cells[i].is_all_taken()) continue;
            if (!best || cells[i].rows[cells[i].end - 1].time_ms >= cells[*best].rows[cells[*best].end - 1].time_ms)
                best = i;
        }
        if (best) taken.push_back({*best, &cells[*best].rows[--cells[*best].end]});
        return best.has_value();
    };
    while (taken.size() < limit && take()) {
    }
    std::ranges::reverse(taken);
    return taken;
}

std::string quoted_or_null(bool is_there, const EventPlaces& places) {
    return is_there ? fmt::format("\"{}\"", cursor_of(places)) : "null";
}

}  // namespace

std::string cursor_of(const EventPlaces& places) {
    std::string text = "c";
    for (const auto& place : places) {
        if (text.size() > 1) text += '-';
        text += place ? std::to_string(*place) : std::string(unknown_place);
    }
    return text;
}

std::optional<EventPlaces> places_in(std::string_view cursor, std::size_t cells) {
    EventPlaces places;
    if (!cursor.starts_with('c')) return std::nullopt;
    for (cursor.remove_prefix(1); places.size() < cells;) {
        const std::string_view one = cursor.substr(0, cursor.find('-'));
        const auto number = parse_number(one);
        if (!number && one != unknown_place) return std::nullopt;
        if (number && *number < 0) return std::nullopt;
        places.push_back(number);
        cursor.remove_prefix(std::min(one.size() + 1, cursor.size()));
        if (places.size() < cells && cursor.empty()) return std::nullopt;
    }
    return cursor.empty() ? std::optional(std::move(places)) : std::nullopt;
}

Result<EventsAsked, std::string> events_asked(const HttpRequest& request, std::size_t cells) {
    EventsAsked asked;
    asked.is_live = request.header("Accept").find("text/event-stream") != std::string_view::npos;
    const auto limit = parse_number(request.query_value("limit").value_or(""));
    asked.limit = limit && *limit > 0 ? static_cast<std::size_t>(*limit) : QueryReader::limit_usual;
    auto after = request.query_value("after");
    const auto before = request.query_value("before");
    if (asked.is_live && (before || request.query_value("until_ms")))
        return Failure(std::string("The live stream takes neither before nor until_ms"));
    if (after && before) return Failure(std::string("Either after or before, not both"));
    if (const std::string_view last = request.header("Last-Event-ID"); asked.is_live && !last.empty())
        after = std::string(last);
    if (!after && !before) return asked;
    asked.towards = after ? EventsAsked::Towards::newer : EventsAsked::Towards::older;
    auto places = places_in(after ? *after : *before, cells);
    if (!places) return Failure(fmt::format("{} {}", after ? "after" : "before", bad_cursor));
    asked.from = std::move(*places);
    return asked;
}

HttpRequest event_question(const HttpRequest& request, EventsAsked::Towards towards,
                           std::optional<std::int64_t> place) {
    HttpRequest question = request;
    std::erase_if(question.headers, [](const HttpHeader& header) { return header.name == "Last-Event-ID"; });
    question.query.clear();
    std::string_view rest = request.query;
    while (!rest.empty()) {
        const std::string_view part = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        if (part.empty() || part.starts_with("after=") || part.starts_with("before=")) continue;
        question.query.append(question.query.empty() ? "" : "&").append(part);
    }
    if (place && towards != EventsAsked::Towards::newest)
        question.query += fmt::format("{}{}", question.query.empty() ? "" : "&",
                                      towards == EventsAsked::Towards::newer ? fmt::format("after={}", *place)
                                                                             : fmt::format("before={}", *place + 1));
    return question;
}

HttpResponse merged_events(const EventsAsked& asked, std::vector<CellAnswer> answers) {
    const std::vector<std::string> missing = missing_cells(answers);
    if (missing.size() == answers.size()) return no_answer_of(missing);
    std::vector<EventsOfCell> cells(answers.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (is_away(answers[i])) continue;
        if (answers[i].response->status != 200) return std::move(*answers[i].response);
        if (!read_page(answers[i].response->body, cells[i])) return no_answer_of({answers[i].cell});
    }
    const bool is_newer = asked.towards == EventsAsked::Towards::newer;
    const auto taken = is_newer ? take_newer(cells, asked.limit) : take_older(cells, asked.limit);

    EventPlaces asked_from = asked.from;
    asked_from.resize(cells.size());
    EventPlaces first = asked_from;  // before the page
    EventPlaces last = asked_from;   // after it
    bool has_newer = false;
    bool has_older = false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const EventsOfCell& cell = cells[i];
        if (!cell.is_here) continue;
        if (is_newer) {
            if (cell.begin > 0) last[i] = cell.rows[cell.begin - 1].id;
            if (cell.is_all_taken() && cell.next) last[i] = cell.next;
            has_newer |= !cell.is_all_taken() || cell.next;
            has_older |= cell.begin > 0;
        } else {
            if (cell.end > 0)
                first[i] = cell.rows[cell.end - 1].id;
            else
                first[i] = cell.previous ? *cell.previous - 1 : 0;
            has_older |= cell.end > 0 || cell.previous;
            if (asked.towards == EventsAsked::Towards::newest && !cell.rows.empty()) last[i] = cell.rows.back().id;
        }
    }
    if (asked.towards == EventsAsked::Towards::older) has_newer = !taken.empty();

    std::string body = "{\"events\":[";
    EventPlaces place = first;
    for (const TakenEvent& event : taken) {
        const auto text = event_of_cell(event.row->text, answers[event.cell].cell, event.cell, place);
        if (!text) return no_answer_of({answers[event.cell].cell});
        if (body.back() != '[') body += ',';
        body += *text;
    }
    body += fmt::format("],\"next\":{},\"previous\":{},\"latest\":{}{}}}\n", quoted_or_null(has_newer, last),
                        quoted_or_null(has_older, first),
                        quoted_or_null(asked.towards != EventsAsked::Towards::older, last), partial_fields(missing));
    return {200, "application/json", std::move(body)};
}

EventPlaces feed_places(const EventsAsked& asked, const std::vector<CellAnswer>& newest) {
    EventPlaces places;
    for (const auto& place : asked.from) places.emplace_back(place.value_or(0));
    if (!places.empty()) return places;
    for (const CellAnswer& answer : newest) {
        EventsOfCell cell;
        places.emplace_back();
        if (is_away(answer) || answer.response->status != 200 || !read_page(answer.response->body, cell)) continue;
        places.back() = cell.rows.empty() ? 0 : cell.rows.back().id;
    }
    return places;
}

std::optional<std::string> event_of_cell(std::string_view event, const std::string& name, std::size_t cell,
                                         EventPlaces& before) {
    if (!event.starts_with(event_begin)) return std::nullopt;
    event.remove_prefix(event_begin.size());
    std::int64_t id = 0;
    const auto read = std::from_chars(event.data(), event.data() + event.size(), id);
    if (read.ec != std::errc()) return std::nullopt;
    event.remove_prefix(static_cast<std::size_t>(read.ptr - event.data()));
    const auto cells = static_cast<std::int64_t>(before.size());
    if (!before[cell]) before[cell] = id - 1;
    std::string told = fmt::format("{}{},\"cell\":\"{}\",\"before\":\"{}\"{}", event_begin,
                                   id * cells + static_cast<std::int64_t>(cell), name, cursor_of(before), event);
    before[cell] = id;
    return told;
}

}  // namespace muster
