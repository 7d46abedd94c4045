#include "http/pending_actions.h"

#include <string>
#include <utility>

#include "base/request_id.h"

namespace muster {
namespace {

constexpr const char* request_id_header = "X-Request-Id";

}  // namespace

void PendingActions::act(const Action& action, const HttpRequest& request, HttpResponder&& responder, Duration limit,
                         Render render) {
    const std::uint64_t number = ++last_number_;
    std::string id(request.header(request_id_header));
    if (id.empty()) id = make_request_id(clock_.wall(), number);
    if (!is_request_id(id)) return responder.send(http_error(400, "X-Request-Id has 1 to 64 visible ASCII characters"));
    if (!game_.act(number, action, {request.peer.to_string(), id, request.role, request.operator_name},
                   clock_.now() + limit))
        return send(std::move(responder), id, http_error(503, "Too many actions wait for the game loop"));
    waiting_.emplace(number, Waiting{std::move(responder), std::move(render), std::move(id)});
    thread_.after(limit, [this, number] {
        const auto found = waiting_.find(number);
        if (found == waiting_.end()) return;
        Waiting late = std::move(found->second);
        waiting_.erase(found);
        send(
            std::move(late.responder), late.request_id,
            late.is_begun
                ? http_error(504, "The store did not confirm it in time: a slow disk or database. It may still be done")
                : http_error(503, "The game loop did not answer in time"));
    });
}

void PendingActions::send(HttpResponder&& responder, const std::string& request_id, HttpResponse&& answer) {
    answer.headers.push_back({request_id_header, request_id});
    responder.send(std::move(answer));
}

void PendingActions::acted(std::uint64_t number, const ActionOutcome& outcome) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    if (outcome.kind == ActionOutcome::Kind::begun) {
        found->second.is_begun = true;
        return;
    }
    Waiting done = std::move(found->second);
    waiting_.erase(found);
    send(std::move(done.responder), done.request_id,
         outcome.kind == ActionOutcome::Kind::unstored
             ? http_error(503, "Done, but the store is unavailable: a restart may undo it")
             : done.render(outcome));
}

}  // namespace muster
