// Actions on their way to the game thread and back: each is answered in time, done or not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "http/api_game.h"
#include "http/http_message.h"
#include "http/http_server.h"

namespace muster {

// HTTP thread only. All of what it is given outlives it.
class PendingActions {
public:
    // Makes the answer to an action that was judged. Not asked for one that was not stored: that is 503.
    using Render = std::function<HttpResponse(const ActionOutcome&)>;

    PendingActions(ApiGame& game, const Clock& clock, HttpThread& thread)
        : game_(game), clock_(clock), thread_(thread) {}

    // The action and its answer carry the request's X-Request-Id, or one that is made here.
    // Answers 503 when the loop takes no more, or has not come to it after `limit`; 504 when it has, and the store has
    // not confirmed it by then.
    void act(const Action& action, const HttpRequest& request, HttpResponder&& responder, Duration limit,
             Render render);

    // The game thread's outcome, after one that says `begun` perhaps. After the deadline it is dropped.
    void acted(std::uint64_t number, const ActionOutcome& outcome);

private:
    struct Waiting {
        HttpResponder responder;
        Render render;
        std::string request_id;
        bool is_begun = false;
    };

    static void send(HttpResponder&& responder, const std::string& request_id, HttpResponse&& answer);

    ApiGame& game_;
    const Clock& clock_;
    HttpThread& thread_;
    std::uint64_t last_number_ = 0;
    std::unordered_map<std::uint64_t, Waiting> waiting_;
};

}  // namespace muster
