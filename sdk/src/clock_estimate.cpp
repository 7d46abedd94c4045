#include "muster/clock_estimate.h"

#include <algorithm>
#include <cmath>

#include "base/planted.h"

namespace muster::sdk {

namespace {

using std::chrono::microseconds;
using Milliseconds = std::chrono::duration<double, std::milli>;
using Seconds = std::chrono::duration<double>;

// Half of a stamp's unit: the stamp was cut off somewhere within a whole millisecond …
constexpr double half_millisecond_ms = 0.5;
// … or microsecond, as were the local times that it is compared with.
constexpr double half_microseconds_ms = 0.001;
// Until samples say otherwise: quartz clocks stay well within this, in ms per second (100 millionths).
constexpr double drift_deviation = 0.1;
// How fast a drift itself may change, in ms per second, per second: 72 millionths an hour, a machine warming up.
constexpr double drift_change = 2e-5;
// The quickest answer seen is not the quickest possible. So much is taken to be left, and of the first few samples a
// share of the round trip besides.
constexpr double least_margin_ms = 1.0;
constexpr double least_margin_share = 0.25;
// Deviations within which 99 of 100 errors lie; the errors are a mixture, not a plain bell curve.
constexpr double likely_deviations = 3.5;
// Samples that cannot both be true are this much further apart than their errors allow.
constexpr double contradiction_ms = 1.0;

double seconds_between(Time from, Time to) {
    return Seconds(to - from).count();
}

double ms(microseconds duration) {
    return Milliseconds(duration).count();
}

microseconds from_ms(double milliseconds) {
    return microseconds(std::llround(milliseconds * 1e3));
}

// From 1970 to the end of 9999. Stamps come from outside: others would not fit the arithmetic. Compared in the stamp's
// own unit, since another would not hold it either.
template <class Unit>
bool is_date(std::chrono::sys_time<Unit> time) {
    constexpr std::chrono::sys_time<Unit> end = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
    return time.time_since_epoch() >= Unit::zero() && time < end;
}

microseconds round_trip_of(const ClockExchange& exchange) {
    const auto away = std::chrono::floor<microseconds>(exchange.received - exchange.sent);
    return away - (exchange.server_sent - exchange.server_received);
}

// How far off a sample may be, squared, in ms. With the same least delay on both ways, an answer that took e longer
// than the least is off by anything within ± e/2, evenly: e²/12. So is the cut-off stamp within ± half_unit_ms.
double variance_of(double excess_ms, double half_unit_ms, double age_s) {
    const double wandered = drift_change * age_s * age_s / 2;
    return (4 * half_unit_ms * half_unit_ms + excess_ms * excess_ms) / 12 + wandered * wandered;
}

}  // namespace

void ClockEstimate::add(const ClockSample& sample) {
    if (!is_date(std::chrono::sys_time<std::chrono::milliseconds>(sample.stamp))) return;
    if (sample.received < sample.sent || sample.received - sample.sent > round_trip_max) return;
    add(point_of(sample), sample.received);
}

void ClockEstimate::add(const ClockExchange& exchange) {
    if (!is_date(exchange.server_received) || !is_date(exchange.server_sent)) return;
    const microseconds held = exchange.server_sent - exchange.server_received;
    const microseconds round_trip = round_trip_of(exchange);
    if (held < held.zero() || round_trip < held.zero() || round_trip > round_trip_max) return;
    add(point_of(exchange), exchange.received);
}

void ClockEstimate::add(const Point& point, Time received) {
    if (known() && contradicts(point)) samples_.clear();
    samples_.push_back(point);
    forget_old(received);
    fit();
}

UnixTime ClockEstimate::server_time(Time now) const {
    const auto local = std::chrono::floor<microseconds>(now.time_since_epoch());
    return UnixTime(local + base_ + from_ms(fitted_at(now)));
}

microseconds ClockEstimate::error_bound(Time now) const {
    return from_ms(bound_ms_at(now));
}

microseconds ClockEstimate::likely_error(Time now) const {
    const double ahead_s = seconds_between(reference_, now);
    const double wandered = drift_change * ahead_s * ahead_s / 2;
    const double variance = level_variance_ + 2 * ahead_s * shared_variance_ + ahead_s * ahead_s * drift_variance_;
    const double likely = likely_deviations * std::sqrt(std::max(0.0, variance)) + wandered;
    return from_ms(std::min(likely, bound_ms_at(now)));
}

microseconds ClockEstimate::round_trip_least() const {
    return from_ms(round_trip_least_ms_);
}

ClockEstimate::Point ClockEstimate::point_of(const ClockSample& sample) {
    const Duration round_trip = sample.received - sample.sent;
    const Time middle = sample.sent + (planted(Bug::offset_sign) ? -1 : 1) * round_trip / 2;
    const auto local = std::chrono::floor<microseconds>(middle.time_since_epoch());
    // server_time − local_receive_time + round_trip/2, with the stamp in the middle of the millisecond it was cut to.
    return {.middle = middle,
            .offset = microseconds(sample.stamp) + from_ms(half_millisecond_ms) - local,
            .round_trip_ms = Milliseconds(round_trip).count(),
            .half_unit_ms = half_millisecond_ms};
}

// With t0 to t3 in the order of the stamps: ((t1 − t0) + (t2 − t3)) / 2, which is the middle of t1 and t2 less that of
// t0 and t3.
ClockEstimate::Point ClockEstimate::point_of(const ClockExchange& exchange) {
    const Time middle = exchange.sent + (exchange.received - exchange.sent) / 2;
    const auto local = std::chrono::floor<microseconds>(middle.time_since_epoch());
    const UnixTime server_middle = exchange.server_received + (exchange.server_sent - exchange.server_received) / 2;
    return {.middle = middle,
            .offset = server_middle.time_since_epoch() - local,
            .round_trip_ms = ms(round_trip_of(exchange)),
            .half_unit_ms = half_microseconds_ms};
}

bool ClockEstimate::contradicts(const Point& point) const {
    const double apart = std::abs(ms(point.offset - base_) - fitted_at(point.middle));
    return apart > bound_ms_at(point.middle) + point.round_trip_ms / 2 + point.half_unit_ms + contradiction_ms;
}

void ClockEstimate::forget_old(Time now) {
    while (samples_.size() > samples_max || now - samples_.front().middle > age_max) samples_.pop_front();
}

// Weighted least squares of a line, with the expected drift as one more, vague, observation.
void ClockEstimate::fit() {
    base_ = samples_.back().offset;
    reference_ = samples_.back().middle;
    round_trip_least_ms_ = std::ranges::min_element(samples_, {}, &Point::round_trip_ms)->round_trip_ms;

    const double count = static_cast<double>(samples_.size());
    const double margin_ms = least_margin_ms + least_margin_share * round_trip_least_ms_ / count;
    const double least_possible_ms = round_trip_least_ms_ - margin_ms;

    double weight_sum = 0;
    double x_sum = 0;
    double xx_sum = 1 / (drift_deviation * drift_deviation);
    double y_sum = 0;
    double xy_sum = 0;
    for (const Point& point : samples_) {
        const double x = seconds_between(reference_, point.middle);
        const double y = ms(point.offset - base_);
        const double weight = 1 / variance_of(point.round_trip_ms - least_possible_ms, point.half_unit_ms, x);
        weight_sum += weight;
        x_sum += weight * x;
        xx_sum += weight * x * x;
        y_sum += weight * y;
        xy_sum += weight * x * y;
    }
    const double determinant = weight_sum * xx_sum - x_sum * x_sum;
    level_ = (xx_sum * y_sum - x_sum * xy_sum) / determinant;
    drift_ = (weight_sum * xy_sum - x_sum * y_sum) / determinant;
    level_variance_ = xx_sum / determinant;
    shared_variance_ = -x_sum / determinant;
    drift_variance_ = weight_sum / determinant;
}

double ClockEstimate::fitted_at(Time local) const {
    return level_ + drift_ * seconds_between(reference_, local);
}

// A stamp was made between sent and received, so at its middle the truth is within half a round trip of the sample;
// from there on the drift may be off by what the fit leaves open.
double ClockEstimate::bound_ms_at(Time local) const {
    const double drift_open = likely_deviations * std::sqrt(drift_variance_);
    double least = ms(round_trip_max);
    for (const Point& point : samples_) {
        const double away_s = std::abs(seconds_between(point.middle, local));
        const double left = std::abs(ms(point.offset - base_) - fitted_at(point.middle));
        const double bound =
            left + point.round_trip_ms / 2 + point.half_unit_ms + (drift_open + drift_change * away_s / 2) * away_s;
        least = std::min(least, bound);
    }
    return least;
}

}  // namespace muster::sdk
