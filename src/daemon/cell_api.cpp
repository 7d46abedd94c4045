#include "daemon/cell_api.h"

#include <utility>

#include "cluster/relayed_question.h"

namespace muster {

CellApi::CellApi(const Parts& parts, const Shared& shared)
    : life_(std::make_shared<LifeThread>(shared.thread)),
      archive_(parts.store),
      operator_(GameOperator::Parts{parts.game, parts.node, parts.store, parts.health, shared.clock, life_}),
      api_(Api::Parts{operator_, shared.gate, parts.past.events, archive_, slow_reads_, parts.past.over, shared.clock,
                      life_, shared.operators, shared.blocks, shared.entropy}),
      feeds_(shared.clock, life_) {
    operator_.answer_to(api_);
    add_move_route(routes_, shared.gate, parts.move);
    api_.add_routes(routes_);
    add_health_routes(routes_, parts.health);
    api_.start_sampling();
    api_.start_history();
}

void CellApi::answer(const std::string& question, const CellDoor::Answer& answer) {
    answer_question(question, answer, *life_, routes_, feeds_);
}

}  // namespace muster
