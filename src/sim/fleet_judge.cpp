#include "sim/fleet_judge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "sim/scenario.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration timeout = 30s;
constexpr Duration brake_hold = 90s;
constexpr Duration brake_window = 30s;
constexpr std::size_t brake_servers = 10;
constexpr double brake_share = 0.15;
constexpr Duration timer_slack = 5ms;
constexpr int low_reports_most = 3;
// Servers that something happened to are judged after each pass; all of them, and who is the best, this often. In a
// larger fleet, also after no fewer passes than this.
constexpr Duration judge_all_every = 500ms;
constexpr std::size_t small_fleet = 64;
constexpr std::uint64_t judge_all_of_many_every = 512;

double score(const KnownServer& known, std::int32_t load) {
    return 100.0 - 50.0 * load / known.max_matches - 20.0 * static_cast<double>(known.cpu) / 100.0 -
           10.0 * static_cast<double>(known.memory) / 100.0;
}

}  // namespace

void FleetJudge::heard(const Scene&, LinkNumber link, const ServerHeartbeat& beat) {
    const KnownServer* speaking = registry_.speaker(link);
    const bool sense = beat.cpu_percent >= 0 && beat.cpu_percent <= 100 && beat.memory_percent >= 0 &&
                       beat.memory_percent <= 100 && beat.match_count >= 0;
    if (!speaking || speaking->id != beat.server || !sense) return;
    KnownServer& known = *registry_.server(beat.server);
    if (beat.match_count >= slots_.held(known.id)) {
        known.low_reports = 0;
        return;
    }
    if (++known.low_reports < low_reports_most) return;
    known.low_reports = 0;
    reconciled_ = known.id;
    reconciled_link_ = link;
    reported_then_ = beat.match_count;
    held_then_.clear();
    std::int32_t present = 0;
    for (const auto& [id, lobby] : slots_.lobbies()) {
        const SeenOffer* held = lobby.held();
        if (!held || held->server != known.id) continue;
        held_then_.push_back(id);
        if (held->link == link) ++present;
    }
    counts_earlier_then_ = beat.match_count > present;
}

void FleetJudge::heard(const Scene&, LinkNumber link, const ServerGoodbye& wish) {
    const KnownServer* speaking = registry_.speaker(link);
    if (speaking && speaking->id == wish.server) leaving_.insert(wish.server);
}

void FleetJudge::heard(const Scene&, LinkNumber link, const AllocateMatchAck& ack) {
    if (ack.accepted && registry_.speaker(link)) in_doubt_.erase(ack.lobby);
}

void FleetJudge::happened(const Scene& scene, const event::ServerRemoved& event) {
    ++removed_;
    const KnownServer& was = registry_.last_removed();
    const bool moved = scene.cause == ServerHandshake::code;  // to another region
    if (!event.timed_out || moved) return;
    const Duration silence = scene.running - was.last_beat;
    if (silence < timeout) {
        return object(scene, "invariant 9", fmt::format("removed after {:.3f} s of silence", to_seconds(silence)),
                      event.server);
    }
    if (braked_.contains(event.server) && silence < brake_hold) {
        object(scene, "fault 29", fmt::format("removed after {:.3f} s with the brake on", to_seconds(silence)),
               event.server);
    }
}

// Only what an earlier registration held is lost, and no more of it than the reports lack.
void FleetJudge::happened(const Scene& scene, const event::MatchAborted& event) {
    if (event.reason != text(Reason::lost_by_server)) return;
    if (in_doubt_.erase(event.lobby) != 0 && event.server != reconciled_) return;  // its server was asked once more
    const SeenLobby* lobby = slots_.lobby(event.lobby);
    const SeenOffer* held = lobby ? lobby->held() : nullptr;
    if (event.server != reconciled_ || !held || held->server != reconciled_ || held->link == reconciled_link_) {
        return object(scene, "F-7", "a match is lost by a server that did not show so by three reports", event.server,
                      event.lobby);
    }
    const bool gone_by_count = counts_earlier_then_ && !registry_.server(event.server)->speaks_of_matches;
    if (slots_.held(event.server) <= reported_then_ || gone_by_count)
        object(scene, "F-7", "a match is lost although its server's report counts it", event.server, event.lobby);
}

void FleetJudge::happened(const Scene&, const event::MatchReady& event) {
    in_doubt_.erase(event.lobby);
}

void FleetJudge::happened(const Scene& scene, const event::MatchEnded& event) {
    if (event.reason != text(Reason::reported_by_heartbeat)) return;
    const KnownServer* known = registry_.server(event.server);
    if (event.server != reconciled_ || !known || known->speaks_of_matches ||
        slots_.held(event.server) <= known->reported) {
        object(scene, "F-7", "a match ends by a count that does not say so", event.server, event.lobby);
    }
}

void FleetJudge::happened(const Scene& scene, const event::BrakeOn& event) {
    ++brakes_;
    std::size_t all = 0;
    std::size_t silent = 0;
    for (const auto& [id, known] : registry_.servers()) {
        if (known.region != event.region) continue;
        ++all;
        if (known.silent_since <= scene.running && scene.running - known.silent_since <= brake_window + timer_slack)
            ++silent;
    }
    if (silent < brake_servers || static_cast<double>(silent) <= brake_share * static_cast<double>(all)) {
        object(scene, "fault 29", fmt::format("the brake is pulled for {} of {} servers", silent, all), {});
    }
}

void FleetJudge::run_began(const Scene& scene, const Core& core) {
    braked_.clear();
    reconciled_ = {};
    reconciled_link_ = 0;
    in_doubt_.clear();
    core.matches().for_each([this](const Match& match) { in_doubt_.insert(match.lobby()); });
    pass_ended(scene, core);
}

void FleetJudge::pass_ended(const Scene& scene, const Core& core) {
    if (core.fleet().size() != registry_.servers().size()) {
        object(scene, "invariant 11",
               fmt::format("{} servers, but the wire says {}", core.fleet().size(), registry_.servers().size()), {});
    }
    const bool small = registry_.servers().size() <= small_fleet;
    ++passes_;
    const bool all = scene.now - judged_all_at_ >= judge_all_every && (small || passes_ >= judge_all_of_many_every);
    if (all) {
        judged_all_at_ = scene.now;
        passes_ = 0;
        for (const auto& [id, known] : registry_.servers()) judge_server(scene, core, known);
        for (const RegionId region : region_ids) {
            const bool used = std::any_of(registry_.servers().begin(), registry_.servers().end(),
                                          [region](const auto& entry) { return entry.second.region == region; });
            if (!used && core.fleet().candidates(region).best())
                object(scene, "A-3", "a candidate where there is no server", {});
            if (!used) continue;
            judge_best(scene, core, region);
            judge_brake(scene, core, region);
        }
    } else {
        for (const ServerId id : registry_.touched()) {
            if (const KnownServer* known = std::as_const(registry_).server(id)) judge_server(scene, core, *known);
        }
    }
    for (const ServerId id : std::exchange(leaving_, {})) {
        if (std::as_const(registry_).server(id)) object(scene, "F-12", "said good-bye, and is still registered", id);
    }
    judge_reconciled(scene);
}

void FleetJudge::judge_server(const Scene& scene, const Core& core, const KnownServer& known) {
    const Server* server = core.fleet().find(known.id);
    if (!server) return object(scene, "invariant 11", "a registered server is unknown to core", known.id);
    if (server->connected() != (known.link != 0))
        return object(scene, "F-6", "connected or not: the wire says otherwise", known.id);
    if (server->drained_by_server != known.drained_by_server ||
        server->drained_by_operator != known.drained_by_operator) {
        return object(scene, "invariant 12", "draining changed by nobody's word", known.id);
    }
    if (server->epoch != known.epoch)
        return object(scene, "invariant 13", "another epoch than its registration's", known.id);
    if (server->max_matches != known.max_matches || server->region != known.region) {
        return object(scene, "F-6", "another capacity or region than its handshake's", known.id);
    }
    const std::int32_t load = load_of(known);
    if (server->load() != load) {
        return object(scene, "F-7", fmt::format("a load of {}, but the wire says {}", server->load(), load), known.id);
    }
    const auto same = [](float a, float b) { return std::fabs(a - b) < 1e-6F; };
    if (!same(server->cpu_percent, known.cpu) || !same(server->memory_percent, known.memory)) {
        return object(scene, "F-4", "other figures than the last report that made sense", known.id);
    }
    const bool candidate = is_free(known, load) && !server->braked;
    if (core.fleet().candidates(server->region).offered(server->place) != candidate) {
        return object(scene, "invariant 11", candidate ? "free, but no candidate" : "a candidate that is not free",
                      known.id);
    }
    judge_silence(scene, *server, known);
}

void FleetJudge::judge_silence(const Scene& scene, const Server& server, const KnownServer& known) {
    const Duration silence = scene.running - known.last_beat;
    if (server.braked) {
        braked_.insert(known.id);
        if (known.silent_since > scene.running)
            object(scene, "fault 29", "kept by the brake, but not silent", known.id);
        if (silence > brake_hold + 1s) object(scene, "fault 29", "kept for longer than the brake holds", known.id);
        return;
    }
    braked_.erase(known.id);
    if (silence <= timeout + 1s) return;
    const bool candidate = server.status() == ServerStatus::available;
    object(scene, candidate ? "invariant 10" : "F-2",
           fmt::format("silent for {:.3f} s and not removed", to_seconds(silence)), known.id);
}

std::int32_t FleetJudge::load_of(const KnownServer& known) const {
    return std::max(known.busy(), slots_.taken(known.id));
}

bool FleetJudge::is_free(const KnownServer& known, std::int32_t load) {
    return known.link != 0 && !known.drained_by_server && !known.drained_by_operator && load < known.max_matches;
}

// A-4 by the plain formula over all of them.
void FleetJudge::judge_best(const Scene& scene, const Core& core, RegionId region) {
    const KnownServer* best = nullptr;
    double highest = 0;
    for (const auto& [id, known] : registry_.servers()) {
        if (known.region != region) continue;
        const std::int32_t load = load_of(known);
        if (!is_free(known, load) || braked_.contains(id)) continue;
        const double own = score(known, load);
        if (best && own <= highest) continue;
        best = &known;
        highest = own;
    }
    const auto chosen = core.fleet().candidates(region).best();
    if (!best && !chosen) return;
    if (!best || !chosen) return object(scene, "A-3", "a candidate too many or too few", best ? best->id : *chosen);
    const KnownServer* known = std::as_const(registry_).server(*chosen);
    const double own = score(*known, load_of(*known));
    if (own < highest - 1e-9) object(scene, "A-4", fmt::format("the best is server {}", best->id.value), *chosen);
}

// All that fell silent together are Offline, and kept.
void FleetJudge::judge_brake(const Scene& scene, const Core& core, RegionId region) {
    if (scene.timers_left) return;
    std::vector<ServerId> silent;
    std::size_t all = 0;
    for (const auto& [id, known] : registry_.servers()) {
        if (known.region != region) continue;
        ++all;
        const bool surely = known.silent_since != Time::max() && scene.running - known.silent_since > timer_slack &&
                            scene.running - known.silent_since < brake_window - timer_slack;
        if (surely) silent.push_back(id);
    }
    if (silent.size() < brake_servers || static_cast<double>(silent.size()) <= brake_share * static_cast<double>(all))
        return;
    for (const ServerId id : silent) {
        const Server* server = core.fleet().find(id);
        if (server && !server->braked)
            return object(scene, "fault 29", "silent with much of its region, and the brake is off", id);
    }
}

// What the reports lack is given up, of what an earlier registration held, and of a server that never speaks of its
// matches, of the rest, too.
void FleetJudge::judge_reconciled(const Scene& scene) {
    const ServerId id = std::exchange(reconciled_, {});
    const LinkNumber link = std::exchange(reconciled_link_, 0);
    const KnownServer* known = std::as_const(registry_).server(id);
    if (id.value == 0 || !known || known->link != link) return;
    std::int32_t kept = 0;
    LobbyId earlier{};
    for (const LobbyId lobby : held_then_) {
        const SeenLobby* seen = slots_.lobby(lobby);
        const SeenOffer* held = seen ? seen->held() : nullptr;
        if (!held || held->server != id) continue;
        ++kept;
        if (held->link != link) earlier = lobby;
    }
    if (kept <= reported_then_) return;
    if (earlier.value != 0)
        return object(scene, "F-7", "three low reports, and an earlier registration's excess is kept", id, earlier);
    if (!known->speaks_of_matches)
        object(scene, "F-7", "three low reports of a server that speaks of no match, and the excess is kept", id);
}

void FleetJudge::object(const Scene& scene, std::string rule, std::string what, ServerId server, LobbyId lobby) {
    objections_.add({std::move(rule), std::move(what), lobby, server, scene.now});
}

}  // namespace muster::sim
