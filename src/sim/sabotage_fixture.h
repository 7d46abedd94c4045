// What tests that break a rule on purpose share: reading and writing frames on their way, and who objects.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "protocol/codec.h"
#include "protocol/port.h"
#include "sim/sabotage.h"
#include "sim/simulation.h"

namespace muster::sim {

template <class M>
std::optional<M> as(const SentFrame& frame) {
    if (frame.port != M::port || frame.code != M::code) return std::nullopt;
    const auto message = decode<M>(std::span(frame.bytes).subspan(frame_head_size), default_byte_order(M::port));
    return message ? std::optional(*message) : std::nullopt;
}

template <class M>
SentFrame framed(LinkNumber link, const M& message) {
    SentFrame frame{link, M::port, M::code, {}};
    encode(message, default_byte_order(M::port), frame.bytes);
    return frame;
}

inline std::string objection_to(Sabotage& sabotage, Scenario scenario, std::uint64_t seed) {
    SimOptions options;
    options.seed = seed;
    options.scenario = scenario;
    options.sabotage = &sabotage;
    const SimReport report = run_simulation(options);
    return report.objection ? report.objection->rule : "";
}

// The rule that is broken first over some seeds, or "" when nobody objects.
inline std::string objection_to(Sabotage& sabotage, Scenario scenario = Scenario::calm) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        if (std::string rule = objection_to(sabotage, scenario, seed); !rule.empty()) return rule;
    }
    return "";
}

}  // namespace muster::sim
