#include "judge.h"

#include <utility>

#include <fmt/core.h>

namespace muster::storm {
namespace {

double mebibytes(std::size_t bytes) {
    return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

void Judge::object(std::string objection) {
    if (!objection_ && !objection.empty()) objection_ = std::move(objection);
}

void Judge::answered(Service service, Moment asked, Moment at) {
    using enum Trouble;
    if (weather_.met({down, stopped, backlog, descriptors, cut_short}, asked, at)) return;
    if (service == Service::promises && weather_.met({slow_disk, full_disk}, asked, at)) return;
    latencies_.add(service, at - asked);
}

void Judge::link_lost(const std::string& whose, Moment at) {
    if (weather_.met({Trouble::down, Trouble::cut_short}, at - 1s, at)) return;
    object(whose + " lost its link though it did nothing wrong");
}

void Judge::calm_over(const Footprint& footprint, std::size_t store_bytes) {
    latencies_.end_calm();
    calm_ = footprint;
    calm_store_bytes_ = store_bytes;
}

void Judge::footprint(const Footprint& footprint, std::size_t store_bytes) {
    if (calm_.memory_bytes == 0) return;
    if (footprint.memory_bytes > calm_.memory_bytes + limits_.memory_growth_bytes) {
        object(fmt::format("memory is not bounded: {:.0f} MiB, {:.0f} MiB in the calm",
                           mebibytes(footprint.memory_bytes), mebibytes(calm_.memory_bytes)));
    }
    if (store_bytes > calm_store_bytes_ + limits_.store_growth_bytes) {
        object(fmt::format("the store is not bounded: {:.0f} MiB, {:.0f} MiB in the calm", mebibytes(store_bytes),
                           mebibytes(calm_store_bytes_)));
    }
}

void Judge::attackers_gone(const Footprint& footprint) {
    if (footprint.descriptors > calm_.descriptors + limits_.descriptors_left) {
        object(fmt::format("descriptors are not given back: {} open, {} in the calm, and the attackers are gone",
                           footprint.descriptors, calm_.descriptors));
    }
}

void Judge::act_over(const std::string& act) {
    if (auto slow = latencies_.end_act()) object(act + ": " + *slow);
}

}  // namespace muster::storm
