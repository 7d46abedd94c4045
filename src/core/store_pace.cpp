#include "core/store_pace.h"

#include <algorithm>
#include <cmath>

namespace muster {
namespace {

Duration in_time(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::max(seconds, 0.0)));
}

}  // namespace

void StorePace::handed_over(Time now, bool is_idle) {
    if (!is_idle) return;
    end_round();
    round_began_ = now;
}

void StorePace::answered(Time now, std::size_t records) {
    if (now != round_ended_) {
        end_round();
        round_ended_ = now;
    }
    round_records_ += static_cast<double>(records);
}

// The round that was answered is known to be whole when the next one begins or is answered.
void StorePace::end_round() {
    if (round_records_ > 0) {
        const double seconds = to_seconds(std::max<Duration>(round_ended_ - round_began_, Duration{0}));
        rounds_ = std::min(rounds_ + 1, static_cast<int>(rounds_remembered));
        const double weight = 1.0 / rounds_;
        const double records_off = round_records_ - records_;
        const double seconds_off = seconds - seconds_;
        records_ += weight * records_off;
        seconds_ += weight * seconds_off;
        records_variance_ = (1 - weight) * (records_variance_ + weight * records_off * records_off);
        covariance_ = (1 - weight) * (covariance_ + weight * records_off * seconds_off);
        round_began_ = std::max(round_began_, round_ended_);
        if (std::sqrt(records_variance_) > deviation_least * records_)
            line_ = std::max(covariance_ / records_variance_, 0.0);
    }
    round_records_ = 0;
}

// Never more than if all of the round were work.
double StorePace::seconds_each() const {
    if (records_ <= 0) return 0;
    const double most = seconds_ / records_;
    return line_ ? std::min(*line_, most) : most;
}

Duration StorePace::work_of(std::size_t records) const {
    return in_time(seconds_each() * static_cast<double>(records));
}

Duration StorePace::sync() const {
    return in_time(seconds_ - seconds_each() * records_);
}

}  // namespace muster
