// A node's machine: its process runs, stands still, is killed and starts again; and its ways to the engine, which may
// be cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/agenda.h"

namespace muster::nodesim {

// How the network is between a node and the engine.
struct LineConditions {
    Duration latency_max = std::chrono::milliseconds(20);
    double stall = 0;  // share of messages that are held up
    Duration stall_max = std::chrono::seconds(8);
    double breaks = 0;  // share of statements after which the connection is reset, at any point
};

// One thread. The agenda outlives it.
class Machine {
public:
    Machine(sim::Agenda& agenda, std::string name, Random random)
        : agenda_(agenda), name_(std::move(name)), random_(random) {}

    const std::string& name() const { return name_; }
    // Of the present run: who sees it knows whether that process may still be there.
    std::string instance() const { return name_ + "#" + std::to_string(run_); }
    bool is_up() const { return is_up_; }
    bool is_stopped() const { return agenda_.now() < stopped_until_; }
    Random& random() { return random_; }
    sim::Agenda& agenda() { return agenda_; }
    Time now() const { return agenda_.now(); }

    // The process does it after `delay`, when it does not stand still; never when it is gone by then.
    void later(Duration delay, std::function<void()> what) {
        agenda_.in(delay, [this, run = run_, what = std::move(what)]() mutable { due(run, std::move(what)); });
    }

    void start() {
        ++run_;
        is_up_ = true;
        stopped_until_ = Time{};
    }
    // All that it was about to do is forgotten.
    void end() {
        ++run_;
        is_up_ = false;
    }
    void stop_for(Duration by) { stopped_until_ = std::max(stopped_until_, agenda_.now() + by); }
    // Just before it does its `step`th thing from now on.
    void stop_at(std::uint64_t step, Duration by) {
        steps_ = 0;
        stop_at_ = step;
        stop_by_ = by;
    }
    void go_on() {
        stopped_until_ = std::min(stopped_until_, agenda_.now());
        agenda_.in(Duration{0}, [this] { catch_up(); });
    }

    // Its ways to the engine and back.
    bool reaches_engine = true;
    bool hears_engine = true;
    LineConditions line{};
    // How wrong its date is.
    std::int64_t date_off_ms = 0;

private:
    void due(std::uint64_t run, std::function<void()> what) {
        if (run != run_) return;
        if (++steps_ == stop_at_) stop_for(stop_by_);
        if (!is_stopped()) return what();
        overdue_.emplace_back(run, std::move(what));
        agenda_.at(stopped_until_, [this] { catch_up(); });
    }
    // What came due while it stood still, in that order.
    void catch_up() {
        if (overdue_.empty()) return;
        if (is_stopped()) return agenda_.at(stopped_until_, [this] { catch_up(); });
        for (auto& [run, what] : std::exchange(overdue_, {})) due(run, std::move(what));
    }

    sim::Agenda& agenda_;
    const std::string name_;
    Random random_;
    std::uint64_t run_ = 0;
    bool is_up_ = false;
    Time stopped_until_{};
    std::vector<std::pair<std::uint64_t, std::function<void()>>> overdue_;
    std::uint64_t steps_ = 0;
    std::uint64_t stop_at_ = 0;  // 0: at none
    Duration stop_by_{0};
};

}  // namespace muster::nodesim
