// What Muster's clock shows, judged by the time stamps on its answers (F-10).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "muster/time.h"

namespace muster::sdk {

// One answer: when it was asked for and when it came, both by the local clock, and the stamp that it carries: Unix time
// in whole milliseconds, the rest cut off.
struct ClockSample {
    Time sent{};
    Time received{};
    std::chrono::milliseconds stamp{};
};

// One answer with two stamps, in microseconds: when Muster had the question, and when its answer left. What lies
// between them is no part of the round trip.
struct ClockExchange {
    Time sent{};
    UnixTime server_received{};
    UnixTime server_sent{};
    Time received{};
};

// Fits offset and drift to the answers of smallest round trip. An answer that took longer than the quickest one counts
// the less, the longer it took: a retransmission hardly moves the estimate.
//
// One thread only. The estimate may move back a little when an answer comes; a game that needs a clock which never
// does so takes the larger of this and the last.
class ClockEstimate {
public:
    static constexpr std::size_t samples_max = 128;
    static constexpr std::chrono::minutes age_max{20};
    static constexpr std::chrono::seconds round_trip_max{10};

    // Ignores a sample that says nothing: received before it was sent, or after more than `round_trip_max`. A sample
    // that cannot be true together with the others means that a clock was set: the others are forgotten.
    void add(const ClockSample& sample);
    // The same; it also says nothing when Muster held it for longer than it was away.
    void add(const ClockExchange& exchange);

    bool known() const { return !samples_.empty(); }

    // These need known().
    UnixTime server_time(Time now) const;
    // server_time minus local time: what to add to this machine's date, `wall`, to get Muster's.
    std::chrono::microseconds offset(Time now, UnixTime wall) const { return server_time(now) - wall; }
    // How much faster Muster's clock runs than the local one, in millionths.
    double drift_ppm() const { return drift_ * 1e3; }
    // The estimate is off by no more than this, however the round trips are made up of their two ways.
    std::chrono::microseconds error_bound(Time now) const;
    // Where both ways have the same least delay, as on most routes, the error is below this in 99 of 100 cases.
    std::chrono::microseconds likely_error(Time now) const;

    // The quickest round trip among the samples.
    std::chrono::microseconds round_trip_least() const;
    std::size_t samples() const { return samples_.size(); }

private:
    struct Point {
        Time middle{};  // halfway between sent and received, where the stamp was made if both ways took the same time
        std::chrono::microseconds offset{};  // the date at `middle` minus the local time there
        double round_trip_ms = 0;
        double half_unit_ms = 0;  // a stamp was cut off by up to twice this, and is taken to be in the middle
    };

    static Point point_of(const ClockSample& sample);
    static Point point_of(const ClockExchange& exchange);
    void add(const Point& point, Time received);
    bool contradicts(const Point& point) const;
    void forget_old(Time now);
    void fit();
    // Milliseconds to add to base_ at that local time.
    double fitted_at(Time local) const;
    double bound_ms_at(Time local) const;

    std::deque<Point> samples_;  // oldest first
    double round_trip_least_ms_ = 0;

    // The fit: offset(t) = base_ + level_ + drift_ · (t − fitted_at_), in ms and ms per second.
    std::chrono::microseconds base_{};
    Time reference_{};
    double level_ = 0;
    double drift_ = 0;
    // Its covariance.
    double level_variance_ = 0;
    double shared_variance_ = 0;
    double drift_variance_ = 0;
};

}  // namespace muster::sdk
