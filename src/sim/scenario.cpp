#include "sim/scenario.h"

#include <cstddef>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, scenarios.size()> names{
    "calm",      "lossy",     "slow_disk", "full_disk", "crashing", "gaps",    "mixed", "mass_silence",
    "last_slot", "reconnect", "players",   "churn",     "backlog",  "starved", "dates",
};

// A small world, in which everybody meets everybody.
void make_small(Conditions& world, Random& random) {
    world.servers = static_cast<int>(random.between(1, 5));
    world.matchmakers = static_cast<int>(random.between(1, 3));
    world.regions = random.chance(0.3) ? 2 : 1;
    world.slots_max = static_cast<int>(random.between(1, 3));
    world.matchmaker.asks_per_minute = static_cast<double>(random.between(4, 20));
    world.network.pieces = 0.1;
}

// Peers as they are: some slow, some wrong, some both.
void add_rough_peers(Conditions& world, Random& random) {
    const double rough = random.unit();
    world.server.refuse = 0.15 * rough;
    world.server.never = 0.1 * rough;
    world.server.late = 0.1 * rough;
    world.server.twice = 0.1 * rough;
    world.server.stray_ack = 0.05 * rough;
    world.server.bad_load = 0.05 * rough;
    world.server.lie = 0.1 * rough;
    world.server.repeat = 0.2 * rough;
    world.server.odd_token = 0.3 * rough;
    world.server.garbage = 0.01 * rough;
    world.server.drain = 0.05 * rough;
    world.server.seeds_only = 0.25;
    world.matchmaker.repeat = 0.3 * rough;
    world.matchmaker.cancel = 0.15 * rough;
    world.matchmaker.odd = 0.1 * rough;
    world.matchmaker.garbage = 0.01 * rough;
    world.faults.operator_drain = 0.5 * rough;
    world.faults.operator_abort = 0.5 * rough;
}

void add_loss(Conditions& world, Random& random) {
    const double loss = 0.2 + 0.8 * random.unit();
    world.network.latency_max = 300ms;
    world.network.stall = 0.03 * loss;
    world.faults.reset = 4 * loss;
    world.faults.vanish = 2 * loss;
    world.faults.one_way = 1 * loss;
    world.faults.server_reboot = 1.5 * loss;
    world.faults.server_leave = 1 * loss;
    world.faults.server_away = 1.5 * loss;
    world.faults.matchmaker_away = 1.5 * loss;
}

void add_slow_disk(Conditions& world, Random& random) {
    world.disk.sync_max = random.chance(0.5) ? 300ms : 10ms;
    world.disk.slow = 0.01 + 0.1 * random.unit();
    world.disk.slow_max = random.chance(0.5) ? 10s : 40s;
    world.disk.queue_max = random.chance(0.3) ? 4 : 64;
}

void add_full_disk(Conditions& world, Random& random) {
    world.faults.disk_full = 1 + 3 * random.unit();
    world.disk.fault = random.chance(0.5) ? 0.05 : 0;
    world.disk.sync_max = random.chance(0.5) ? 500ms : 6ms;
}

void add_crashes(Conditions& world, Random& random) {
    world.faults.crash = 1 + 4 * random.unit();
    world.faults.sync_fails = 0.3;
    world.faults.shutdown = 0.3;
    world.disk.sync_max = random.chance(0.5) ? 1s : 10ms;
}

void add_gaps(Conditions& world, Random& random) {
    world.faults.freeze = 1 + 2 * random.unit();
    world.faults.stop_inside = 0.5 + random.unit();
    world.faults.freeze_max = random.chance(0.3) ? 200s : 40s;
    world.faults.wall_step = 1;
    world.disk.sync_max = random.chance(0.5) ? 2s : 10ms;
}

// Muster's own threads: how many, how late, and how much room there is between them and the loop.
void add_threads(Conditions& world, Random& random) {
    constexpr std::array<Duration, 3> wake_ups{50us, 2ms, 20ms};
    world.gateway.workers = static_cast<int>(random.between(1, 3));
    world.gateway.wake_up = wake_ups[random.below(wake_ups.size())];
    world.gateway.late = random.chance(0.5) ? 0.3 * random.unit() : 0;
    world.gateway.slots_shared = random.chance(0.5);
    if (random.chance(0.3)) world.gateway.inbox_items = static_cast<std::size_t>(random.between(1, 8));
}

// Little room for what waits for the disk, so that small worlds fill it.
void add_congestion(Conditions& world, Random& random) {
    world.rules.ledger.events_waiting = static_cast<std::size_t>(random.between(8, 60));
    world.rules.ledger.promises_waiting = static_cast<std::size_t>(random.between(1, 8));
    world.rules.ledger.records_in_flight = static_cast<std::size_t>(random.between(10, 200));
}

void add_operators(Conditions& world, Random& random) {
    world.api_asks_per_minute = static_cast<double>(random.between(1, 10));
    world.faults.operator_remove = 0.3 * random.unit();
}

void add_churn(Conditions& world, Random& random) {
    world.faults.passer_by = 20 + 200 * random.unit();
    world.faults.slow_reader = random.chance(0.5) ? 1 : 0;
}

void make_churn(Conditions& world, Random& random) {
    make_small(world, random);
    add_rough_peers(world, random);
    add_loss(world, random);
    add_churn(world, random);
    world.gateway.slots_shared = true;
    world.gateway.wake_up = 20ms;
    world.faults.reset = 10;
    world.faults.server_reboot = 4;
}

// Many short matches, and matchmakers that come and go: what they missed is more than their links hold unsent.
void make_backlog(Conditions& world, Random& random) {
    world.servers = 4;
    world.matchmakers = static_cast<int>(random.between(1, 2));
    world.players = 2;
    world.slots_min = world.slots_max = 20;
    world.matchmaker.asks_per_minute = static_cast<double>(random.between(60, 120));
    world.matchmaker.list = 0;
    world.server.ack_max = 200ms;
    world.server.play_min = 1s;
    world.server.play_max = 20s;
    world.network.kernel_bytes = 512;
    world.gateway.unsent_max = 4'096;
    world.rules.news_portion = 1'024;
    world.faults.matchmaker_away = 3;
    world.faults.reset = 1;
    world.duration = 4min;
    if (random.chance(0.3)) add_crashes(world, random);
}

// A pass takes at most a tenth of a second for messages, however many wait.
void make_starved(Conditions& world, Random& random) {
    make_small(world, random);
    add_rough_peers(world, random);
    world.gateway.message_cost = Duration(random.between(Duration(1ms).count(), Duration(60ms).count()));
    if (random.chance(0.5)) add_loss(world, random);
}

void make_dates(Conditions& world, Random& random) {
    make_small(world, random);
    world.faults.wall_step = 0.5;
    world.faults.date_ahead = 0.5 + random.unit();
    if (random.chance(0.7)) add_crashes(world, random);
    world.duration = 5min;
}

void make_mass_silence(Conditions& world, Random& random) {
    world.servers = static_cast<int>(random.between(12, 24));
    world.matchmakers = 1;
    world.regions = 1;
    world.matchmaker.asks_per_minute = 10;
    world.server.seeds_only = 0.2;
    world.silenced_at_once = random.chance(0.5) ? 1.0 : 0.1 + 0.9 * random.unit();
}

void make_last_slot(Conditions& world) {
    world.servers = 1;
    world.matchmakers = 3;
    world.slots_min = world.slots_max = 1;
    world.matchmaker.asks_per_minute = 0;
    world.duration = 40s;
    world.server.play_min = 30s;
    world.server.play_max = 30s;
    world.burst = 1'000;
    world.disk.queue_max = 1024;
}

void make_reconnect(Conditions& world) {
    world.servers = 10'000;
    world.matchmakers = 2;
    world.slots_max = 4;
    world.duration = 60s;
    world.rest = 60s;
    world.matchmaker.asks_per_minute = 60;
    world.all_reset_at_once = true;
    world.disk.queue_max = 1024;
    world.server.play_max = 8s;
}

// The world's clock at every kind of speed, and near the turn of an hour, a day and a week.
void set_rules(Rules& rules, Random& random) {
    constexpr std::array<std::int32_t, 5> speeds{1, 7, 60, 61, 600};
    rules.clock_speed = speeds[random.below(speeds.size())];
    rules.clock_start = {static_cast<std::uint8_t>(random.between(1, 7)), 23,
                         static_cast<std::uint8_t>(random.between(50, 59))};
    rules.heartbeats = random.chance(0.7);
}

void add_rough_players(Conditions& world, Random& random) {
    const double rough = random.unit();
    world.player.idle = 0.03 * rough;
    world.player.deaf = 0.03 * rough;
    world.player.late_echo = 0.2 * rough;
    world.player.dazed = 0.02 * rough;
    world.player.no_answer = 0.1 * rough;
    world.player.bad_answer = 0.1 * rough;
    world.player.late_answer = 0.1 * rough;
    world.player.drop = 0.05 * rough;
    world.player.late_return = 0.2 * rough;
    world.player.odd_token = 0.2 * rough;
    world.player.elsewhere = 0.03 * rough;
    world.player.takeover = 0.03 * rough;
    world.player.mute = 0.05 * rough;
    world.player.logout = 0.02 * rough;
    world.player.garbage = 0.02 * rough;
    world.faults.operator_kick = 0.5 * rough;
    world.faults.operator_clock = rough;
}

// A few servers, and players in every kind of weather.
void make_players(Conditions& world, Random& random) {
    world.servers = 2;
    world.matchmakers = 1;
    world.players = static_cast<int>(random.between(4, 16));
    world.matchmaker.list = 0.8;
    world.network.pieces = 0.1;
    world.duration = 5min;
    if (random.chance(0.5)) add_loss(world, random);
    if (random.chance(0.3)) add_slow_disk(world, random);
    if (random.chance(0.3)) add_full_disk(world, random);
    if (random.chance(0.3)) add_crashes(world, random);
    if (random.chance(0.4)) add_gaps(world, random);
    add_rough_players(world, random);
}

void fleet_of(Conditions& world, Scenario scenario, Random& random) {
    switch (scenario) {
        case Scenario::calm:
            make_small(world, random);
            return;
        case Scenario::mass_silence:
            make_mass_silence(world, random);
            return;
        case Scenario::last_slot:
            make_last_slot(world);
            return;
        case Scenario::reconnect:
            make_reconnect(world);
            return;
        case Scenario::players:
            make_players(world, random);
            return;
        case Scenario::churn:
            make_churn(world, random);
            return;
        case Scenario::backlog:
            make_backlog(world, random);
            return;
        case Scenario::starved:
            make_starved(world, random);
            return;
        case Scenario::dates:
            make_dates(world, random);
            return;
        default:
            break;
    }
    make_small(world, random);
    if (scenario != Scenario::slow_disk || random.chance(0.5)) add_rough_peers(world, random);
    const bool mixed = scenario == Scenario::mixed;
    const auto has = [&](Scenario part) { return scenario == part || (mixed && random.chance(0.6)); };
    if (has(Scenario::lossy)) add_loss(world, random);
    if (has(Scenario::slow_disk)) add_slow_disk(world, random);
    if (has(Scenario::full_disk)) add_full_disk(world, random);
    if (has(Scenario::crashing)) add_crashes(world, random);
    if (has(Scenario::gaps)) add_gaps(world, random);
    if (mixed && random.chance(0.4)) add_churn(world, random);
    if (mixed && random.chance(0.3)) world.faults.date_ahead = 0.5;
    if (random.chance(0.5)) add_operators(world, random);
    const bool disk_may_be_slow = has(Scenario::slow_disk) || scenario == Scenario::full_disk;
    if (disk_may_be_slow && random.chance(0.5)) add_congestion(world, random);
    add_rough_players(world, random);
}

}  // namespace

std::string_view to_string(Scenario scenario) {
    return names[static_cast<std::size_t>(scenario)];
}

std::optional<Scenario> scenario_named(std::string_view name) {
    for (const Scenario scenario : scenarios) {
        if (to_string(scenario) == name) return scenario;
    }
    return std::nullopt;
}

Conditions conditions_of(Scenario scenario, Random& random) {
    Conditions world;
    add_threads(world, random);
    fleet_of(world, scenario, random);
    set_rules(world.rules, random);
    return world;
}

Conditions calmed(const Conditions& conditions) {
    Conditions calm = conditions;
    calm.network = NetworkConditions{};
    calm.network.kernel_bytes = conditions.network.kernel_bytes;
    calm.gateway.wake_up = GatewayConditions{}.wake_up;
    calm.gateway.message_cost = {};
    calm.api_asks_per_minute = 0;
    calm.disk = DiskConditions{};
    calm.disk.queue_max = conditions.disk.queue_max;
    const double seeds_only = conditions.server.seeds_only;
    calm.server = ServerHabits{};
    calm.server.seeds_only = seeds_only;
    calm.server.play_min = 1s;
    calm.server.play_max = 15s;
    calm.matchmaker = MatchmakerHabits{};
    calm.matchmaker.asks_per_minute = 0;
    calm.player = PlayerHabits{};
    calm.faults = FaultRates{};
    return calm;
}

}  // namespace muster::sim
