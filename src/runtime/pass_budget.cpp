#include "runtime/pass_budget.h"

namespace muster {

std::string_view to_string(HandlerKind kind) {
    switch (kind) {
        case HandlerKind::message:
            return "message";
        case HandlerKind::timer:
            return "timer";
        case HandlerKind::event:
            return "event";
        case HandlerKind::update:
            return "update";
        case HandlerKind::flush:
            return "flush";
        case HandlerKind::gap:
            return "gap";
    }
    return "unknown";
}

void PassBudget::begin_pass(Time now) {
    latest_ = now;
    limit_ = {};
    used_ = 0;
    slowest_.took = Duration::zero();
    slowest_.name.clear();
}

void PassBudget::begin_phase(const PhaseLimit& limit) {
    limit_ = limit;
    used_ = 0;
}

}  // namespace muster
