// Estimates Muster's clock from the timestamps in its answers (F-10).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "muster/time.h"

namespace muster::sdk {

// One answer: when the request was sent and when the answer arrived, both by the local clock, and the answer's
// timestamp: Unix time in whole milliseconds, rounded down.
struct ClockSample {
    Time sent{};
    Time received{};
    std::chrono::milliseconds stamp{};
};

// One answer with two timestamps, in microseconds: when Muster received the request, and when it sent the answer. The
// time between them is not part of the round trip.
struct ClockExchange {
    Time sent{};
    UnixTime server_received{};
    UnixTime server_sent{};
    Time received{};
};

// Fits offset and drift to the answers with the smallest round trips. The longer an answer took compared to the fastest
// one, the smaller its weight: a retransmission hardly moves the estimate.
//
// One thread only. The estimate may move back a little when an answer comes; a game that needs a clock which never
// does so takes the larger of this and the last.
class ClockEstimate {
public:
    static constexpr std::size_t samples_max = 128;
    static constexpr std::chrono::minutes age_max{20};
    static constexpr std::chrono::seconds round_trip_max{10};

    // Ignores an invalid sample: received before it was sent, or after more than `round_trip_max`. A sample that
    // contradicts the others means that a clock was set: the others are dropped.
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
    // The maximum error, however the round trip is split between the two directions.
    std::chrono::microseconds error_bound(Time now) const;
    // If both directions have the same minimum delay, as on most routes, the error is below this in 99 of 100 cases.
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
