// How long the store's queue takes, learned from its answers: how much work waits, in time and not in records.
//
// A store answers in rounds: it takes what waits, writes it and syncs once. A round takes the sync, which does not
// depend on how much it carries, and some time for each record. Only the second adds up in a queue: a disk that takes a
// second to sync still takes a thousand matches with it. So the time a record adds is learned from rounds of different
// sizes (a line through them, older ones counting less). While all are of one size nobody can tell: then the last line
// counts, and before there was one, all of the round is work.
#pragma once

#include <cstddef>
#include <optional>

#include "base/time.h"

namespace muster {

// Game thread only. Time is passed in and never goes backwards.
class StorePace {
public:
    // Older rounds count less: after about so many, a change of pace is known.
    static constexpr double rounds_remembered = 64;
    // Rounds of one size: the deviation is below this part of the mean.
    static constexpr double deviation_least = 0.1;

    // Records were handed over; `is_idle` when the store had nothing to do before.
    void handed_over(Time now, bool is_idle);
    // A batch was answered. Those answered at the same time are one round.
    void answered(Time now, std::size_t records);

    // What `records` add to the wait of whatever comes after them. Zero before the first round.
    Duration work_of(std::size_t records) const;
    // What a round takes beside its records.
    Duration sync() const;

private:
    void end_round();
    double seconds_each() const;

    Time round_began_{};
    Time round_ended_{};
    double round_records_ = 0;
    int rounds_ = 0;
    // Weighted means over rounds: their records and seconds, and how these vary together.
    double records_ = 0;
    double seconds_ = 0;
    double records_variance_ = 0;
    double covariance_ = 0;
    std::optional<double> line_;  // seconds a record, by the last line that could be drawn
};

}  // namespace muster
