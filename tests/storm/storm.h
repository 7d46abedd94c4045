// Runs a plan: the daemon, its honest peers, their attackers and the machine's faults; and asks the judge.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "crowd.h"
#include "daemon_process.h"
#include "honest_operator.h"
#include "judge.h"
#include "noise_meter.h"
#include "plan.h"
#include "raid.h"
#include "weather.h"

namespace muster::storm {

struct StormOptions {
    std::filesystem::path program;
    std::filesystem::path preload;
    std::filesystem::path folder;
    CrowdSize crowd;
    JudgeLimits limits;
    std::uint64_t seed = 1;
    int slowness = 1;  // of the build: a sanitized one takes so many times as long to start and to end
};

// One thread, besides those that it owns.
class Storm {
public:
    explicit Storm(const StormOptions& options);

    // Nothing when all went well; else what the judge objects to.
    std::optional<std::string> run(const Plan& plan);
    // What it saw, for the last line.
    std::string figures() const;

private:
    void play_lives(const Plan& plan);
    void begin_life(const Life& life);
    void play(const Act& act);
    void stop_and_continue(const Act& act);
    void step_date(const Act& act);
    void slow_disk(const Act& act);
    void full_disk(const Act& act);
    void hang_disk(const Act& act);
    void no_descriptors(const Act& act);
    void end_life(FaultKind how);
    void finish();

    // Lets everything go on for that long, or until somebody objects.
    void go_on(Span length);
    // The same until `done`; objects with `otherwise` when that takes longer than `most`.
    void go_on_until(const std::function<bool()>& done, Span most, const std::string& otherwise);
    void look();
    void hear_machine();
    void hear_disk();
    void hear_crowding(double threads);
    void hear_operator();
    void say(const std::string& line) const;
    bool objected() const { return judge_.objection().has_value(); }

    const StormOptions options_;
    const Moment began_;
    Weather weather_;
    Judge judge_;
    DaemonProcess daemon_;
    Crowd crowd_;
    HonestOperator operator_;
    NoiseMeter noise_;
    Raid raid_;
    bool may_end_ = false;  // the daemon's end is part of the plan
    std::optional<int> ended_;
    Moment looked_;
    std::optional<Moment> busy_at_;  // when the machine was last too busy to judge anybody's silence
    bool disk_is_slow_ = false;      // by itself
    double crowding_ = 0;            // threads that want each processor, of late
    bool crowded_ = false;
    std::size_t memory_most_ = 0;
    std::size_t store_most_ = 0;
};

}  // namespace muster::storm
