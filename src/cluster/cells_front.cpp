#include "cluster/cells_front.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "cluster/cell_feeds.h"
#include "cluster/cell_figures.h"
#include "cluster/cell_readiness.h"

namespace muster {
namespace {

std::size_t rows_max(const CellQuestion& question, const HttpRequest& request) {
    if (question.list == "regions") return std::numeric_limits<std::size_t>::max();
    const auto limit = parse_number(request.query_value("limit").value_or(""));
    return limit && *limit > 0 ? static_cast<std::size_t>(*limit) : QueryReader::limit_usual;
}

}  // namespace

void CellsFront::answer(HttpRequest&& request, HttpResponder&& responder) {
    constexpr std::string_view of_cells = "/api/v1/cells/";
    if (request.path.starts_with(of_cells)) {
        const std::string_view rest = std::string_view(request.path).substr(of_cells.size());
        const auto named = std::ranges::find(cells_.names, rest.substr(0, rest.find('/')));
        if (named == cells_.names.end()) return responder.send(http_error(404, "No such cell"));
        return ask_one_(std::move(request), std::move(responder),
                        static_cast<CellNumber>(named - cells_.names.begin()));
    }
    using Kind = CellQuestion::Kind;
    using Answers = std::vector<CellAnswer>;
    const CellQuestion question = cell_question_of(request);
    const auto same = [&request](CellNumber) { return request; };
    switch (question.kind) {
        case Kind::first:
            return ask_one_(std::move(request), std::move(responder), 0);
        case Kind::region: {
            const CellNumber cell = cells_.of_region(region_in_body(request.body).value_or(""));
            return ask_one_(std::move(request), std::move(responder), cell);
        }
        case Kind::list:
            return gather(
                same,
                [question, limit = rows_max(question, request)](Answers&& answers) {
                    return merged_lists(question, limit, std::move(answers));
                },
                lists_wait_max, std::move(responder));
        case Kind::find:
            return gather(same, found_answer, std::nullopt, std::move(responder));
        case Kind::all:
            return gather(same, joint_answer, std::nullopt, std::move(responder));
        case Kind::drain:
            return gather(same, merged_drains, std::nullopt, std::move(responder));
        case Kind::overview:
            return gather(same, merged_overviews, lists_wait_max, std::move(responder));
        case Kind::history:
            return gather(same, merged_histories, lists_wait_max, std::move(responder));
        case Kind::events:
            return events(std::move(request), std::move(responder));
    }
}

void CellsFront::readiness(const HttpRequest& request, HttpResponder&& responder) {
    gather([&request](CellNumber) { return request; }, cells_readiness, lists_wait_max, std::move(responder));
}

void CellsFront::events(HttpRequest&& request, HttpResponder&& responder) {
    const auto asked = events_asked(request, cells_.names.size());
    if (!asked) return responder.send(http_error(400, asked.error()));
    if (!asked->is_live) {
        const auto of_cell = [&](CellNumber cell) {
            const auto place = asked->from.empty() ? std::nullopt : asked->from[cell];
            return event_question(request, asked->towards, place);
        };
        const auto tell = [asked = *asked](std::vector<CellAnswer>&& answers) {
            return merged_events(asked, std::move(answers));
        };
        // The history may be read from a disk.
        return gather(of_cell, tell, std::nullopt, std::move(responder));
    }
    // First where the histories end now, so that the feed misses nothing from here on, whoever owns the cells later.
    HttpRequest newest = request;
    newest.query = "limit=1";
    std::erase_if(newest.headers, [](const HttpHeader& header) { return header.name == "Accept"; });
    gather([&](CellNumber) { return newest; },
           [this, asked = *asked, request = std::move(request)](std::vector<CellAnswer>&& answers) {
               return begin_feed(asked, request, std::move(answers));
           },
           lists_wait_max, std::move(responder));
}

HttpResponse CellsFront::begin_feed(const EventsAsked& asked, const HttpRequest& request,
                                    std::vector<CellAnswer>&& newest) {
    const auto missing = missing_cells(newest);
    if (missing.size() == newest.size()) return no_answer_of(missing);
    for (CellAnswer& answer : newest)
        if (!is_away(answer) && answer.response->status != 200) return std::move(*answer.response);
    HttpResponse response{200, "text/event-stream", {}};
    response.stream = std::make_shared<CellFeeds>(
        clock_, cells_.names, request, feed_places(asked, newest),
        [owners = owners_](const HttpRequest& question, OwnerLine::OnAnswer then, CellNumber cell) {
            owners->ask(question, std::move(then), cell);
        });
    return response;
}

// Answers come on any thread, and are taken on the HTTP thread.
void CellsFront::gather(const std::function<HttpRequest(CellNumber)>& question, Gathered::Tell tell,
                        std::optional<Duration> wait_max, HttpResponder&& responder) {
    auto gathered = std::make_shared<Gathered>(std::move(tell), std::move(responder));
    for (const std::string& name : cells_.names) gathered->answers.push_back({name, std::nullopt});
    gathered->waits_for = cells_.names.size();
    for (CellNumber cell = 0; cell < cells_.names.size(); ++cell) {
        owners_->ask(
            question(cell),
            [gathered, cell, thread = thread_](std::optional<HttpResponse> response) {
                thread->post(
                    [gathered, cell, taken = std::make_shared<std::optional<HttpResponse>>(std::move(response))] {
                        gathered->answers[cell].response = std::move(*taken);
                        if (--gathered->waits_for == 0) gathered->end();
                    });
            },
            cell);
    }
    if (wait_max) thread_->after(*wait_max, [gathered] { gathered->end(); });
}

void CellsFront::Gathered::end() {
    if (!responder) return;
    HttpResponder told = std::move(*responder);
    responder.reset();
    told.send(tell(std::vector<CellAnswer>(answers)));
}

}  // namespace muster
