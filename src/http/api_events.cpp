// The event history and the live feed.
#include <exception>
#include <utility>

#include "http/api.h"
#include "http/page_query.h"

namespace muster {

void Api::add_event_routes(Routes& routes) {
    add_read(routes, "/events", [this](HttpRequest&& request, HttpResponder&& responder) {
        events(std::move(request), std::move(responder));
    });
}

void Api::events(HttpRequest&& request, HttpResponder&& responder) {
    if (request.header("Accept").find("text/event-stream") != std::string_view::npos)
        return responder.send(live_events(request));
    const auto query = event_query_of(request);
    if (!query) return responder.send(http_error(400, query.error()));
    if (const auto page = page_from_ring(*query, parts_.events))
        return responder.send(json_answer(event_page_json(*page)));
    old_events(*query, std::move(responder));
}

HttpResponse Api::live_events(const HttpRequest& request) {
    const auto query = event_query_of(request);
    if (!query) return http_error(400, query.error());
    if (query->before || query->filter.until_ms)
        return http_error(400, "The live stream takes neither before nor until_ms");
    std::optional<std::int64_t> last_seen = query->after;
    if (const std::string_view header = request.header("Last-Event-ID"); !header.empty()) {
        last_seen = parse_number(header);
        if (!last_seen || *last_seen < 0) return http_error(400, "Last-Event-ID must be a whole number");
    }
    if (const auto refusal = feeds_->refusal(request.peer)) {
        return http_error(503, *refusal == HttpRefusal::per_ip ? "Too many live feeds are open from this address"
                                                               : "Too many live feeds are open");
    }
    HttpResponse response{200, "text/event-stream", {}};
    response.stream =
        std::make_shared<EventStream>(parts_.events, parts_.clock, query->filter, last_seen, feeds_, request.peer,
                                      [this, asked = request] { return parts_.gate.still_admits(asked); });
    return response;
}

void Api::old_events(const EventQuery& query, HttpResponder&& responder) {
    const std::uint64_t number = ++last_read_;
    const bool taken = parts_.slow_reads.submit(
        [this, query, number, thread = parts_.thread, &events = parts_.events, &archive = parts_.archive] {
            auto response = std::make_shared<HttpResponse>();
            try {
                *response = json_answer(event_page_json(page_of(query, events, archive)));
            } catch (const std::exception&) {
                *response = http_error(503, "The event history cannot be read now");
            }
            thread->post([this, number, response] {
                const auto waiting = reads_.find(number);
                if (waiting == reads_.end()) return;
                waiting->second.send(std::move(*response));
                reads_.erase(waiting);
            });
        });
    if (!taken) return responder.send(http_error(503, "Too many requests for the history are waiting"));
    reads_.emplace(number, std::move(responder));
}

}  // namespace muster
