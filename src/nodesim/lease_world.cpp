#include "nodesim/lease_world.h"

#include <utility>

#include <fmt/format.h>

namespace muster::nodesim {
namespace {

using namespace std::chrono_literals;

// A number of its own for each part, so that one part's chances do not shift another's.
std::uint64_t lease_part(std::uint64_t seed, std::uint64_t part) {
    return seed * 0x9e3779b97f4a7c15 + part * 0xbf58476d1ce4e5b9;
}

class LeaseWorld {
public:
    explicit LeaseWorld(const LeaseOptions& options)
        : options_(options),
          agenda_(clock_),
          trace_(options.readable_trace, clock_.now()),
          judge_(clock_, trace_),
          engine_(agenda_, clock_, Random(lease_part(options.seed, 1)), options.cells, options.sabotage, judge_),
          mischief_({agenda_, engine_, judge_, nodes_}, Random(lease_part(options.seed, 2))) {
        for (std::size_t i = 0; i < options.nodes; ++i) {
            const ClusterNode::Parts parts{agenda_, engine_, judge_, clock_, options.sabotage};
            nodes_.push_back(std::make_unique<ClusterNode>(parts, std::string(1, static_cast<char>('a' + i)),
                                                           Random(lease_part(options.seed, 10 + i))));
            for (std::size_t cell = 0; cell < options.cells; ++cell) {
                works_.push_back(std::make_unique<PromiseWork>(nodes_.back()->machine(), judge_, engine_,
                                                               [this] { return LobbyId(++last_lobby_); }));
                works_.back()->serve(nodes_.back()->add_cell(cell, *works_.back()));
            }
        }
    }

    LeaseReport play() {
        const Time start = clock_.now();
        for (const auto& node : nodes_) node->start();
        agenda_.in(4s, [this] { begin_scene(); });
        run_until(start + options_.length);
        // Who was killed for good stays so: the others are judged.
        if (options_.scene == LeaseScene::mischief) mischief_.calm_down();
        run_until(start + options_.length + 15s);
        judge_owned();
        run_until(start + options_.length + 18s);
        judge_.judge_promises();
        return report();
    }

private:
    void begin_scene() {
        if (options_.scene == LeaseScene::mischief) return mischief_.begin();
        if (options_.scene == LeaseScene::engine_away) return engine_.fail_over(60s, false);
        for (const auto& node : nodes_)
            if (node->store(0).owns()) return befall(*node);
    }

    void befall(ClusterNode& owner) {
        switch (options_.scene) {
            case LeaseScene::stopped:
                return owner.machine().stop_at(options_.stop_at_step, 12s);
            case LeaseScene::killed:
                return owner.kill(false);
            case LeaseScene::powered_off:
                return owner.kill(true);
            case LeaseScene::cut_off:
                owner.machine().reaches_engine = owner.machine().hears_engine = false;
                return;
            case LeaseScene::mischief:
            case LeaseScene::quiet:
            case LeaseScene::engine_away:
                return;
        }
    }

    void run_until(Time end) {
        while (!judge_.objection() && agenda_.step(end)) {
        }
    }

    // With the faults off every cell is owned within 15 s.
    void judge_owned() {
        if (judge_.objection()) return;
        for (std::size_t cell = 0; cell < options_.cells; ++cell) {
            // One that is cut off does not know yet that it is none.
            const std::int64_t term = engine_.kept().line(cell).mark.term;
            std::size_t owners = 0;
            for (const auto& node : nodes_)
                owners += node->store(cell).owns() && node->store(cell).term().term == term ? 1 : 0;
            if (owners != 1)
                judge_.object("N-6", fmt::format("cell {} has {} owners 15 s after the faults", cell, owners));
            if (clock_.now() - judge_.last_heard(cell) > 2s)
                judge_.object("N-3", fmt::format("cell {}: its owner is not heard", cell));
        }
    }

    LeaseReport report() const {
        LeaseReport report;
        report.objection = judge_.objection();
        report.trace_hash = trace_.hash();
        if (report.objection) report.trace = trace_.last_lines({}, {}, 200);
        report.takeovers = judge_.takeovers();
        report.hand_overs = judge_.hand_overs();
        report.batches = judge_.batches();
        report.promises = judge_.promises();
        for (const auto& node : nodes_)
            for (std::size_t cell = 0; cell < options_.cells; ++cell) report.unknown += node->store(cell).unknown();
        report.warnings = engine_.warnings();
        report.engine_failovers = engine_.failovers();
        report.terminated = engine_.terminated();
        report.lost = engine_.lost();
        report.longest_silence = judge_.longest_silence();
        return report;
    }

    const LeaseOptions options_;
    VirtualClock clock_;
    sim::Agenda agenda_;
    sim::Trace trace_;
    LeaseJudge judge_;
    Engine engine_;
    std::vector<std::unique_ptr<PromiseWork>> works_;
    std::vector<std::unique_ptr<ClusterNode>> nodes_;
    NodeMischief mischief_;
    std::int32_t last_lobby_ = 0;
};

}  // namespace

LeaseReport run_leases(const LeaseOptions& options) {
    return LeaseWorld(options).play();
}

}  // namespace muster::nodesim
