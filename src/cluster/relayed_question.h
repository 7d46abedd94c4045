// A question that came from another node, answered by the API of the owner.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cluster/relayed_feed.h"
#include "cluster/relayed_request.h"
#include "http/health.h"
#include "http/http_message.h"
#include "http/http_server.h"
#include "http/routes.h"
#include "relay/cell_door.h"

namespace muster {

// Any thread; the rest is done on the HTTP thread. Routes and feeds are there for as long as the thread takes work. A
// question that its owner cannot answer any more is answered by the end of the link.
inline void answer_question(const std::string& question, const CellDoor::Answer& answer, HttpThread& thread,
                            Routes& routes, RelayedFeeds& feeds) {
    auto request = unpacked_request(question);
    if (!request ||
        !(request->path.starts_with("/api/") || is_probe(request->path) || RelayedFeed::is_about_feed(*request)))
        return answer(packed_response(http_error(400, "Not a request of the API")));
    thread.post([&routes, &feeds, asked = std::make_shared<HttpRequest>(std::move(*request)), answer] {
        if (RelayedFeed::is_about_feed(*asked))
            return feeds.ask(*asked, HttpResponder([answer](auto&& piece) { answer(packed_response(piece)); }));
        const bool takes_feed = RelayedFeed::does_take_feed(*asked);
        routes.handle(std::move(*asked), HttpResponder([&feeds, answer, takes_feed](HttpResponse&& response) {
                          if (response.stream && takes_feed) response = feeds.begin(std::move(response));
                          answer(packed_response(response));
                      }));
    });
}

}  // namespace muster
