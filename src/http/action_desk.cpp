#include "http/action_desk.h"

#include <utility>

namespace muster {

void ActionDesk::act(const Action& action, const HttpRequest& request, HttpResponder&& responder, Duration limit,
                     Render render) {
    const std::uint64_t number = ++last_number_;
    if (!game_.act(number, action, request.peer.to_string(), clock_.now() + limit))
        return responder.send(http_error(503, "Too many actions wait for the game loop"));
    waiting_.emplace(number, Waiting{std::move(responder), std::move(render)});
    thread_.after(limit, [this, number] {
        const auto found = waiting_.find(number);
        if (found == waiting_.end()) return;
        found->second.responder.send(http_error(503, "The game loop did not answer in time"));
        waiting_.erase(found);
    });
}

void ActionDesk::acted(std::uint64_t number, const ActionOutcome& outcome) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    found->second.responder.send(found->second.render(outcome));
    waiting_.erase(found);
}

}  // namespace muster
