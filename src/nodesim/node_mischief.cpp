#include "nodesim/node_mischief.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace muster::nodesim {

using namespace std::chrono_literals;

void NodeMischief::begin() {
    for (const auto& node : parts_.nodes) {
        node->machine().line = {.latency_max = 20ms, .stall = 0.01, .stall_max = 8s, .breaks = 0.01};
        node->machine().date_off_ms = random_.between(-8'000, 8'000);
    }
    next();
}

void NodeMischief::later(Duration delay, std::function<void()> what) {
    parts_.agenda.in(delay, [this, what = std::move(what)] {
        if (!is_calm_) what();
    });
}

void NodeMischief::next() {
    struct Kind {
        int weight;
        void (NodeMischief::*befall)();
    };
    static constexpr std::array kinds{
        Kind{30, &NodeMischief::stop_node},       Kind{18, &NodeMischief::kill_node},
        Kind{6, &NodeMischief::end_node},         Kind{6, &NodeMischief::move_cell},
        Kind{12, &NodeMischief::cut_node},        Kind{8, &NodeMischief::reset_lines},
        Kind{8, &NodeMischief::fail_engine_over}, Kind{12, &NodeMischief::lose_standby},
    };
    later(between(300ms, 5s), [this] {
        int drawn = static_cast<int>(random_.below(100));
        for (const Kind& kind : kinds) {
            drawn -= kind.weight;
            if (drawn >= 0) continue;
            (this->*kind.befall)();
            break;
        }
        next();
    });
}

ClusterNode& NodeMischief::owner() {
    const std::size_t cell = random_.below(parts_.nodes.front()->cells());
    if (random_.chance(0.7))
        for (const auto& node : parts_.nodes)
            if (node->store(cell).owns()) return *node;
    return any_node();
}

void NodeMischief::stop_node() {
    ClusterNode& node = owner();
    const double luck = random_.unit();
    const Duration by = luck < 0.4 ? between(100ms, 4s) : luck < 0.9 ? between(4s, 14s) : between(14s, 60s);
    parts_.judge.note(fmt::format("{} stands still for {:.3f} s", node.name(), to_seconds(by)));
    node.machine().stop_for(by);
}

void NodeMischief::kill_node() {
    ClusterNode& node = owner();
    node.kill(random_.chance(0.5));
    later(between(500ms, 12s), [&node] { node.start(); });
}

void NodeMischief::end_node() {
    ClusterNode& node = owner();
    node.shut_down();
    later(between(4s, 12s), [&node] { node.start(); });
}

void NodeMischief::move_cell() {
    ClusterNode& node = owner();
    node.hand_over(random_.below(node.cells()));
}

void NodeMischief::cut_node() {
    Machine& machine = owner().machine();
    const std::uint64_t way = random_.below(3);
    machine.reaches_engine = way == 1;
    machine.hears_engine = way == 2;
    parts_.judge.note(fmt::format("{} is cut off from the engine, way {}", machine.name(), way));
    later(between(300ms, 15s), [&machine] { machine.reaches_engine = machine.hears_engine = true; });
}

void NodeMischief::reset_lines() {
    owner().reset_lines();
}

void NodeMischief::fail_engine_over() {
    const bool stays = random_.chance(0.4);
    parts_.judge.note(stays ? "the standby is promoted, and the old primary stays" : "the primary dies");
    parts_.engine.fail_over(between(50ms, 6s), stays);
    later(between(1s, 20s), [this] { parts_.engine.end_stale(); });
    if (random_.chance(0.5)) later(between(100ms, 8s), [this] { parts_.engine.cancel_waits(); });
}

void NodeMischief::lose_standby() {
    const Duration by = between(300ms, 12s);
    parts_.judge.note(fmt::format("the standby is away for {:.3f} s", to_seconds(by)));
    parts_.engine.lose_standby(by);
    if (random_.chance(0.7)) later(between(10ms, by), [this] { parts_.engine.cancel_waits(); });
    if (random_.chance(0.3))
        later(between(10ms, by), [this, gap = between(50ms, 3s)] { parts_.engine.fail_over(gap, false); });
}

void NodeMischief::calm_down() {
    is_calm_ = true;
    parts_.judge.note("the faults are switched off");
    parts_.engine.calm_down();
    for (const auto& node : parts_.nodes) {
        Machine& machine = node->machine();
        machine.reaches_engine = machine.hears_engine = true;
        machine.line = {};
        machine.go_on();
        node->start();
    }
}

}  // namespace muster::nodesim
