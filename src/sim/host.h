// The machine that Muster runs on: starts it, stops it for a while, kills it, and starts it again from its disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/virtual_clock.h"
#include "sim/agenda.h"
#include "sim/court.h"
#include "sim/disk.h"
#include "sim/network.h"
#include "sim/process.h"
#include "sim/sabotage.h"
#include "sim/scenario.h"

namespace muster::sim {

// What happened to Muster in a simulation.
struct HostFigures {
    std::uint64_t crashes = 0;
    std::uint64_t shutdowns = 0;
    std::uint64_t freezes = 0;
    std::uint64_t stops_inside = 0;  // of a pass
    std::uint64_t slow_readers = 0;  // links cut
    std::uint64_t sync_failures = 0;
    std::uint64_t handlers_failed = 0;
    std::uint64_t stale_messages = 0;
    std::uint64_t bad_acks = 0;
    std::uint64_t lost_matches = 0;
    std::uint64_t load_mismatches = 0;
    Duration longest_pass{0};
    std::uint64_t passes = 0;
    std::uint64_t frames_sent = 0;
    std::uint64_t steps = 0;  // at which the machine could have died
};

// One thread. All it is given outlives it.
class Host final : private Listener, private DiskWatcher {
public:
    struct Parts {
        Agenda& agenda;
        VirtualClock& clock;
        Network& network;
        Court& court;
        Sabotage& sabotage;
        const Rules& rules;
        const GatewayConditions& gateway;
    };

    // `die_at` is the step at which the machine dies, once; 0: at none.
    Host(const Parts& parts, std::uint64_t seed, const DiskConditions& disk, std::uint64_t die_at);

    void start();
    // kill -9, or the power goes: what is not on the disk is lost. Starts again after a while.
    void crash();
    // A sync fails: nothing is answered from then on, Muster ends and starts again (fault 3).
    void fail_sync();
    // SIGTERM: refuses what is new, finishes, ends; starts again after a while.
    void shut_down();
    // Stands still: nothing runs, sockets fill.
    void freeze(Duration by);
    void thaw();
    // The same inside one of the next passes, at some point of it, and not beyond `until`.
    void stop_inside(Duration by, Time until);
    // An operator's word. Nothing while Muster is down.
    void drain(const OperatorDrain& wish);
    void abort(LobbyId lobby);
    void kick(AccountId player);
    void remove_server(ServerId server);
    void set_clock(const OperatorClock& wish);
    // Questions over HTTP. The same.
    void ask(const AllocationRequest& request);
    void ask(const MatchPlayers& list);
    void cancel(LobbyId lobby, std::string reason);

    // Null while it is down.
    const Core* core() const { return process_ ? &process_->core() : nullptr; }
    Disk& disk() { return disk_; }
    const HostFigures& figures() const { return figures_; }
    // The same with what the run under way has counted so far.
    void end() {
        if (process_) count(*process_);
    }

private:
    bool accept(LinkNumber link, Port port, const IpAddress& peer) override;
    void bytes(LinkNumber link, std::span<const std::byte> bytes) override;
    void ended(LinkNumber link) override;
    void drained(LinkNumber link) override;
    void durable(const RecordBatch& batch) override;
    void pruned(const std::map<std::int64_t, EventRecord>& events) override;
    Time stopped_until() const override { return frozen_until_; }
    bool step() override;
    bool forge(const RecordBatch& batch) override;

    void deadline(Duration delay, std::function<void()> due);
    void end_run(std::string_view how, Network::Gone gone);
    void count(const Process& process);
    void start_later();
    void end_later(Duration delay);
    void wake_at(Time when);
    void wake_soon();
    void woken();
    void turn();
    void at_point(PassPoint point);
    void work_for(Duration by);
    void judge_gap();
    void missed(Duration by);
    // Posts what the call posts to the process, if it runs.
    template <class Post>
    void post(Post post);

    Parts parts_;
    Random random_;
    SeededEntropy entropy_;
    Disk disk_;
    std::unique_ptr<Process> process_;
    std::uint64_t run_ = 0;  // which of its runs: what was planned in an earlier one is dropped
    HostFigures figures_;
    std::uint64_t die_at_;
    bool turning_ = false;
    bool dies_ = false;  // once the pass under way is over
    bool shutting_down_ = false;
    Time frozen_until_{};
    Duration stop_inside_{0};  // the next stop inside a pass, if any
    Time stop_inside_until_{};
    std::vector<std::function<void()>> overdue_;  // came due while it stood still
    std::optional<Time> waking_at_;               // the next turn, for which the agenda's alarm is set
    std::optional<Time> planned_;                 // when the loop's wait should have ended
    Duration stood_still_{0};                     // this run's gaps, by our own count (L-8)
};

}  // namespace muster::sim
