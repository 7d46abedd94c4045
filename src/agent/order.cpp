#include "agent/order.h"

namespace muster {

std::set<ProcessId> to_be_written_first(const std::vector<Order>& orders) {
    using Kind = ProcessNews::Kind;
    std::set<ProcessId> changed;
    std::set<ProcessId> ended;
    for (const Order& order : orders) {
        const auto* news = std::get_if<ProcessNews>(&order);
        if (!news) continue;
        if (news->kind == Kind::changed || news->kind == Kind::ready) changed.insert(news->process);
        if (news->kind == Kind::exited) ended.insert(news->process);
    }
    for (const ProcessId each : ended) changed.erase(each);
    return changed;
}

}  // namespace muster
