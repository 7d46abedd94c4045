// Judges without a court, for tests that tell them by hand what a correct core never does.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "core/core.h"
#include "core/events.h"
#include "protocol/messages.h"
#include "sim/drop_judge.h"
#include "sim/fleet_judge.h"
#include "sim/judge.h"
#include "sim/notice_judge.h"
#include "sim/promise_judge.h"
#include "sim/registry.h"
#include "sim/scenario.h"
#include "sim/slot_judge.h"
#include "sim/token_judge.h"
#include "sim/verdict_judge.h"

namespace muster::sim {

using namespace std::chrono_literals;

inline constexpr RegionId eu = region_ids[0];
inline constexpr LobbyId lobby{12345};

// Judges without a court: what they hear is written down here.
struct JudgesFixture {
    JudgesFixture() { matchmaker_link = greet_matchmaker("chat-1"); }

    std::string rule() const { return objections.first() ? objections.first()->rule : ""; }

    LinkNumber greet_matchmaker(const std::string& id) {
        const LinkNumber link = ++last_link;
        registry.opened(scene, link, Port::matchmakers);
        registry.heard(scene, link, MatchmakerHandshake{"secret", MatchmakerIdText(id), {{eu}}});
        registry.said(scene, link, MatchmakerHandshakeResponse{MatchmakerHandshakeResponse::Accepted{}});
        return link;
    }
    LinkNumber register_server(std::int32_t id, std::int32_t max_matches = 1, std::int64_t epoch = 1) {
        return greet_server(id, max_matches, event::ServerRegistered{ServerId(id), eu, "10.0.0.1", max_matches, epoch});
    }
    LinkNumber resume_server(std::int32_t id, std::int64_t epoch) {
        return greet_server(id, 1, event::ServerResumed{ServerId(id), eu, epoch});
    }
    LinkNumber greet_server(std::int32_t id, std::int32_t max_matches, const auto& became) {
        const LinkNumber link = ++last_link;
        registry.opened(scene, link, Port::servers);
        registry.heard(scene, link, ServerHandshake{"secret", {"10.0.0.1", 7000 + id}, eu, max_matches});
        registry.happened(scene, became);
        registry.said(scene, link, ServerHandshakeResponse{ServerHandshakeResponse::Accepted{ServerId(id), {}}});
        return link;
    }
    void ask() {
        const AllocationRequest request{lobby, 6, 0, eu, 2, 1650};
        slots.heard(scene, matchmaker_link, request);
        verdicts.heard(scene, matchmaker_link, request);
    }
    void offer(LinkNumber link, const char* token) {
        if (const KnownServer* server = registry.speaker(link); server && slots.lobby(lobby)->seeking)
            slots.happened(scene, event::MatchOffered{lobby, eu, server->id, 1, {}, {}});
        slots.said(scene, link, AllocateMatch{lobby, 6, 0, token});
    }
    void acknowledge(LinkNumber link) {
        slots.heard(scene, link, AllocateMatchAck{true, lobby});
        tokens.heard(scene, link, AllocateMatchAck{true, lobby});
    }
    void advance(Duration by) {
        scene.now += by;
        scene.running += by;
    }

    Scene scene{.now = Time(1h), .running = Time(1h), .cause = 0, .cause_link = 0, .cause_lobby = {}};
    Objections objections;
    Registry registry{objections};
    SlotJudge slots{objections, registry};
    FleetJudge fleet{objections, registry, slots};
    TokenJudge tokens{objections, registry, slots};
    VerdictJudge verdicts{objections, registry, slots, tokens};
    NoticeJudge notices{objections, registry, slots, verdicts};
    PromiseJudge promises{objections, registry, verdicts};
    DropJudge drops{objections, registry, slots};
    LinkNumber last_link = 0;
    LinkNumber matchmaker_link = 0;
};

inline void use_simulated_regions(CoreConfig& config) {
    config.fleet.regions.clear();
    for (const RegionId region : region_ids) config.fleet.regions.push_back({region, "region"});
    config.matchmakers.regions = config.fleet.regions;
}

}  // namespace muster::sim
