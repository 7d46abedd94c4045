#include "daemon/cell_api.h"

#include <utility>

#include "daemon/relayed_request.h"

namespace muster {

CellApi::CellApi(const Parts& parts, const Shared& shared)
    : life_(std::make_shared<LifeThread>(shared.thread)),
      archive_(parts.store),
      operator_(GameOperator::Parts{parts.game, parts.node, parts.store, parts.health, shared.clock, life_}),
      api_(Api::Parts{operator_, shared.gate, parts.past.events, archive_, slow_reads_, parts.past.over, shared.clock,
                      life_, shared.operators, shared.blocks, shared.entropy}) {
    operator_.answer_to(api_);
    add_move_route(routes_, shared.gate, parts.move);
    api_.add_routes(routes_);
    api_.start_sampling();
    api_.start_history();
}

void CellApi::answer(const std::string& question, const CellDoor::Answer& answer) {
    auto request = unpacked_request(question);
    if (!request || !request->path.starts_with("/api/"))
        return answer(packed_response(http_error(400, "Not a request of the API")));
    // A question that its owner cannot answer any more is answered by the end of the link.
    life_->post([this, asked = std::make_shared<HttpRequest>(std::move(*request)), answer] {
        routes_.handle(std::move(*asked),
                       HttpResponder([answer](HttpResponse&& response) { answer(packed_response(response)); }));
    });
}

}  // namespace muster
