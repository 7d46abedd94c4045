#include "sim/world.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

Duration percentile(std::vector<Duration> sorted, double share) {
    if (sorted.empty()) return {};
    const auto index = static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
    return sorted[index];
}

// A number of its own for each part, so that one part's chances do not shift another's.
std::uint64_t part_of(std::uint64_t seed, std::uint64_t part) {
    return seed * 0x9e3779b97f4a7c15 + part * 0xbf58476d1ce4e5b9;
}

}  // namespace

World::World(const SimOptions& options)
    : options_(options),
      agenda_(clock_),
      random_(part_of(options.seed, 1)),
      trace_(options.readable_trace, clock_.now()),
      stage_{agenda_, network_, conditions_for(options), false, {}, 0, {}, {}},
      court_(trace_, stage_.conditions.rules),
      network_(agenda_, Random(part_of(options.seed, 2)), stage_.conditions.network),
      host_({agenda_, clock_, network_, court_, options.sabotage ? *options.sabotage : honest_, stage_.conditions.rules,
             stage_.conditions.gateway},
            part_of(options.seed, 3), stage_.conditions.disk, options.die_at_step),
      mischief_({stage_, clock_, host_, court_, servers_, matchmakers_}, Random(part_of(options.seed, 4))),
      start_(clock_.now()),
      calm_at_(start_ + stage_.conditions.duration),
      api_(stage_, host_, Random(part_of(options.seed, 5))) {
    stage_.calm_at = calm_at_;
    make_actors();
    plan();
}

Conditions World::conditions_for(const SimOptions& options) {
    Random random(part_of(options.seed, 0));
    Conditions conditions = conditions_of(options.scenario, random);
    if (options.duration) conditions.duration = *options.duration;
    if (options.servers) conditions.servers = *options.servers;
    if (options.matchmakers) conditions.matchmakers = *options.matchmakers;
    if (options.players) conditions.players = *options.players;
    if (options.slots) conditions.slots_min = conditions.slots_max = *options.slots;
    if (options.requests_max) conditions.rules.requests_max = *options.requests_max;
    if (options.asks_per_minute) conditions.matchmaker.asks_per_minute = *options.asks_per_minute;
    return conditions;
}

void World::make_actors() {
    const Conditions& conditions = stage_.conditions;
    for (int i = 0; i < conditions.servers; ++i) {
        GameServerTraits traits;
        traits.ip = IpAddress::v4({10, 0, static_cast<std::uint8_t>(i / 250), static_cast<std::uint8_t>(1 + i % 250)});
        traits.region = region_ids[static_cast<std::size_t>(i % conditions.regions)];
        traits.max_matches = static_cast<std::int32_t>(random_.between(conditions.slots_min, conditions.slots_max));
        traits.seeds_only = random_.chance(conditions.server.seeds_only);
        servers_.push_back(std::make_unique<GameServerActor>(stage_, Random(random_.next()), traits));
    }
    const std::vector<RegionId> regions(region_ids.begin(), region_ids.begin() + conditions.regions);
    for (int i = 0; i < conditions.matchmakers; ++i) {
        matchmakers_.push_back(std::make_unique<MatchmakerActor>(stage_, Random(random_.next()),
                                                                 fmt::format("matchmaker-{}", i + 1), regions));
    }
    for (int i = 0; i < conditions.players; ++i) {
        players_.push_back(
            std::make_unique<PlayerActor>(stage_, Random(random_.next()), fmt::format("player-{}", i + 1)));
    }
}

void World::plan() {
    const Conditions& conditions = stage_.conditions;
    // A use that was on the disk when Muster died counts, though nobody was told: the next try is refused.
    const bool undisturbed = options_.scenario == Scenario::calm && options_.die_at_step == 0;
    if (undisturbed) court_.tokens().expect_acceptance();
    agenda_.at(start_, [this] { host_.start(); });
    const Duration arrival = conditions.servers > 100 ? 8s : 2s;
    for (const auto& server : servers_) server->start(between(random_, 10ms, arrival));
    for (const auto& matchmaker : matchmakers_) matchmaker->start(between(random_, 10ms, 3s));
    for (const auto& player : players_) player->start(between(random_, 10ms, 5s));
    agenda_.in(4s, [this] {
        mischief_.begin();
        api_.begin();
    });
    if (conditions.burst > 0) {
        agenda_.in(5s, [this] {
            const int each = stage_.conditions.burst / stage_.conditions.matchmakers;
            for (const auto& matchmaker : matchmakers_) matchmaker->burst(each);
            matchmakers_[0]->burst(stage_.conditions.burst - each * stage_.conditions.matchmakers);
        });
    }
    if (conditions.silenced_at_once > 0) agenda_.in(conditions.duration / 2, [this] { silence_some(); });
    if (conditions.all_reset_at_once) agenda_.in(conditions.duration / 2, [this] { reset_all(); });
}

void World::play() {
    run_until(calm_at_);
    calm_down();
    run_until(std::max(calm_at_ + 30s, in_rest(2)));
    judge_registered();
    judge_players();
    run_until(in_rest(5));
    probe();
    run_until(in_rest(5) + 11s);
    judge_probes();
    run_until(in_rest(10));
    // The world's clock is written down all the time: a moment without anything unwritten must come soon.
    for (int i = 0; i < 50 && unwritten(); ++i) run_until(clock_.now() + 100ms);
    // An hour and its minute are two messages: a client may be between them.
    for (int i = 0; i < 5 && !clocks_are_right(); ++i) run_until(clock_.now() + 100ms);
    judge_rest();
    host_.end();
}

void World::run_until(Time end) {
    while (!court_.objections().first() && agenda_.step(end)) tell_progress();
}

void World::tell_progress() {
    constexpr std::uint64_t steps_between = 4096;
    if (!options_.on_progress || ++steps_ % steps_between != 0) return;
    const double whole = to_seconds(in_rest(10) - start_);
    options_.on_progress(std::clamp(to_seconds(clock_.now() - start_) / whole, 0.0, 1.0));
}

void World::calm_down() {
    if (court_.objections().first()) return;
    court_.note(clock_.now(), "the faults are switched off");
    crashes_when_calm_ = host_.figures().crashes;
    stage_.calm = true;
    stage_.conditions = calmed(stage_.conditions);
    network_.set_conditions(stage_.conditions.network);
    network_.heal();
    host_.disk().set_conditions(stage_.conditions.disk);
    host_.disk().set_full(false);
    host_.thaw();
    for (const auto& server : servers_) server->calm_down();
    for (const auto& matchmaker : matchmakers_) matchmaker->calm_down();
    for (const auto& player : players_) player->calm_down();
    agenda_.in(20s, [this] {
        for (const auto& server : servers_) {
            if (server->registered()) host_.drain({server->id(), false});
        }
    });
}

// Their links are half open: they say nothing, and nobody tells Muster why.
void World::silence_some() {
    court_.note(clock_.now(), "fault: much of the region falls silent");
    for (const auto& server : servers_) {
        if (!random_.chance(stage_.conditions.silenced_at_once)) continue;
        if (server->link() != 0) network_.lose(server->link(), Way::both);
        server->go_away(between(random_, 5s, 80s));
    }
}

void World::reset_all() {
    court_.note(clock_.now(), "fault: all links are reset");
    all_reset_at_ = clock_.now();
    for (const auto& server : servers_) {
        if (server->link() != 0) network_.reset(server->link());
    }
    agenda_.in(1s, [this] { watch_return(); });
}

void World::watch_return() {
    const bool all =
        std::all_of(servers_.begin(), servers_.end(), [](const auto& server) { return server->registered(); });
    longest_return_ = clock_.now() - all_reset_at_;
    if (!all) agenda_.in(100ms, [this] { watch_return(); });
}

// A death that was asked for may come when all else is calm: then there is no telling how long things take.
bool World::died_in_the_calm() const {
    return host_.figures().crashes != crashes_when_calm_;
}

void World::judge_registered() {
    if (died_in_the_calm()) return;
    for (const auto& server : servers_) {
        if (!server->registered()) object("invariant 22", "a healthy server is not registered within 30 s");
    }
    if (!host_.core()) object("invariant 22", "Muster does not run");
}

// A process that stood still for long finds all the logins that were tried meanwhile. Then some are too many, and the
// minute must pass in which they were.
void World::judge_players() {
    if (died_in_the_calm()) return;
    const auto limited = [this](const auto& player) {
        return !player->logged_in() && player->limited_at() && *player->limited_at() > calm_at_;
    };
    if (std::any_of(players_.begin(), players_.end(), limited)) run_until(calm_at_ + 65s);
    for (const auto& player : players_) {
        if (!player->logged_in()) object("invariant 22", "a player is not logged in");
    }
}

// Each client shows the world's time, or that of a message ago (invariant 16).
bool World::clocks_are_right() const {
    constexpr GameMinute week = 7 * 24 * 60;
    constexpr Duration slowest_way = 350ms;  // of a link from before the calm
    const Core* core = host_.core();
    if (!core) return false;
    const GameMinute now = minute_of(core->world().shown());
    const std::int32_t speed = core->world().speed();
    const GameMinute behind_max = speed <= 60 ? 1 : (1s + slowest_way) * speed / 1min + 1;
    return std::all_of(players_.begin(), players_.end(), [&](const auto& player) {
        const auto& shown = player->clock().shown;
        return shown && (now - minute_of(*shown) + week) % week <= behind_max;
    });
}

void World::probe() {
    if (court_.objections().first()) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(stage_.conditions.regions); ++i) {
        const RegionId region = region_ids[i];
        const auto& known = court_.registry().servers();
        const bool has_room = std::any_of(known.begin(), known.end(), [&](const auto& entry) {
            const KnownServer& server = entry.second;
            const auto slots = court_.slots().held(server.id) + court_.slots().offered(server.id);
            return server.region == region && server.link != 0 && !server.drained_by_server &&
                   !server.drained_by_operator && std::max(server.reported, slots) < server.max_matches;
        });
        if (has_room) matchmakers_[0]->probe(region);
    }
}

void World::judge_probes() {
    if (died_in_the_calm()) return;
    std::size_t asked = 0;
    std::size_t answered = 0;
    std::string why;
    for (const auto& matchmaker : matchmakers_) {
        asked += matchmaker->probes();
        answered += matchmaker->probes_answered();
        if (!matchmaker->last_probe_error().empty()) why = matchmaker->last_probe_error();
    }
    if (answered < asked)
        object("invariant 22", fmt::format("with a free slot a request did not succeed within 10 s: {}", why));
}

bool World::unwritten() const {
    const Core* core = host_.core();
    return core && (core->ledger().waiting() || core->ledger().in_flight() != 0);
}

// Nothing is left half done.
void World::judge_rest() {
    const Core* core = host_.core();
    if (court_.objections().first() || !core || died_in_the_calm()) return;
    core->matches().for_each([&](const Match& match) {
        object("invariant 22", "a match is left over", match.lobby(), match.record.server);
    });
    if (core->matches().in_flight() != 0) object("invariant 22", "a request is left in flight");
    if (unwritten()) object("invariant 22", "records are left unwritten");
    if (court_.verdicts().waiting() != 0) object("invariant 22", "an answer is still owed");
    core->fleet().for_each([&](const Server& server) {
        if (server.held != 0 || server.offered != 0) object("invariant 22", "a slot is left taken", {}, server.id);
    });
    for (const auto& server : servers_) {
        if (server->matches() != 0) object("invariant 22", "a server still runs a match", {}, server->id());
    }
    for (const auto& matchmaker : matchmakers_) {
        if (!matchmaker->registered()) object("invariant 22", "a matchmaker is not back");
    }
    judge_players();
    if (!clocks_are_right()) object("invariant 16", "a player's clock does not show the world's time");
}

SimReport World::report() const {
    SimReport report;
    report.objection = court_.objections().first();
    report.trace_hash = trace_.hash();
    if (report.objection && !options_.whole_trace) {
        report.trace = trace_.last_lines(report.objection->lobby, report.objection->server, 200);
    } else if (options_.whole_trace) {
        report.trace = trace_.last_lines({}, {}, ~std::size_t{0});
    }
    report.virtual_time = clock_.now() - start_;
    report.muster = host_.figures();
    report.registrations = court_.registry().registrations();
    report.servers_removed = court_.fleet().removed();
    report.brakes = court_.fleet().brakes();
    report.links_lost_one_way = network_.lost_one_way();
    report.lobbies_allocated = court_.promises().lobbies_allocated();
    std::vector<Duration> times = court_.verdicts().success_times();
    std::sort(times.begin(), times.end());
    report.successes = times.size();
    report.failures = court_.verdicts().failures();
    report.retries = court_.slots().retries();
    report.allocation_p50 = percentile(times, 0.5);
    report.allocation_p95 = percentile(times, 0.95);
    report.allocation_p99 = percentile(times, 0.99);
    report.allocation_max = percentile(times, 1);
    report.tokens_accepted = court_.tokens().accepted();
    report.tokens_refused = court_.tokens().refused();
    report.player_logins = court_.players().logins();
    report.player_resumes = court_.players().resumes();
    report.player_closes = court_.players().closes();
    report.player_idles = court_.keepalive().idles();
    report.heartbeats = court_.keepalive().heartbeats();
    report.clock_messages = court_.clock().told();
    report.invited = court_.invitations().invited();
    report.sent_away = court_.invitations().sent_away();
    for (const auto& player : players_)
        report.longest_wait_for_ping = std::max(report.longest_wait_for_ping, player->longest_wait_for_ping());
    report.longest_return = longest_return_;
    return report;
}

void World::object(std::string rule, std::string what, LobbyId lobby, ServerId server) {
    court_.object({std::move(rule), std::move(what), lobby, server, clock_.now()});
}

}  // namespace muster::sim
