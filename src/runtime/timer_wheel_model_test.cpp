// The wheel beside a model that is too simple to be wrong: an ordered map of (tick, order of arming).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "base/time.h"
#include "runtime/timer_wheel.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

#ifdef NDEBUG
constexpr std::uint64_t operations = 10'000'000;
#else
constexpr std::uint64_t operations = 1'000'000;
#endif
constexpr std::size_t timers_max = 4'000;

// Just before the 32 bits of a deadline wrap.
constexpr Time just_before_wrap{std::chrono::milliseconds((std::int64_t{1} << 32) - 1'000)};

class ModelRun {
public:
    explicit ModelRun(std::uint64_t seed) : random_(seed) {}

    void step() {
        switch (random_.below(10)) {
            case 0:
            case 1:
            case 2:
                return timers_.size() < timers_max ? schedule() : cancel();
            case 3:
            case 4:
                return reschedule();
            case 5:
                return cancel();
            case 6:
                return disarm();
            default:
                return advance();
        }
    }

    std::uint64_t popped() const { return popped_; }
    Time now() const { return now_; }
    bool agrees() const { return agrees_; }

private:
    using Order = std::pair<std::int64_t, std::uint64_t>;  // tick, order of arming

    struct Timer {
        TimerId id;
        std::uint64_t payload = 0;
        Order order;
        bool armed = false;
    };

    void schedule() {
        const Time deadline = some_deadline();
        Timer timer{{}, ++last_payload_, {}, false};
        timer.id = wheel_.schedule(deadline, timer.payload);
        timers_.push_back(timer);
        at_[timer.payload] = timers_.size() - 1;
        arm(timers_.back(), deadline);
    }

    void reschedule() {
        if (timers_.empty()) return;
        Timer& timer = some_timer();
        const Time deadline = some_deadline();
        expect(wheel_.reschedule(timer.id, deadline));
        disarm_in_model(timer);
        arm(timer, deadline);
    }

    void cancel() {
        if (timers_.empty()) return;
        Timer& timer = some_timer();
        expect(wheel_.cancel(timer.id));
        expect(!wheel_.cancel(timer.id));
        disarm_in_model(timer);
        at_.erase(timer.payload);
        const auto place = static_cast<std::size_t>(&timer - timers_.data());
        timer = timers_.back();
        timers_.pop_back();
        if (place < timers_.size()) at_[timer.payload] = place;
    }

    void disarm() {
        if (timers_.empty()) return;
        Timer& timer = some_timer();
        expect(wheel_.disarm(timer.id));
        expect(!wheel_.armed(timer.id));
        disarm_in_model(timer);
    }

    void advance() {
        const std::optional<Time> wake = wheel_.next_wake();
        expect(wake.has_value() == !armed_.empty());
        if (wake) expect(*wake <= std::max(now_, Time(std::chrono::milliseconds(armed_.begin()->first.first))));

        now_ += some_step();
        wheel_.advance(now_);
        const std::int64_t tick = std::chrono::floor<std::chrono::milliseconds>(now_.time_since_epoch()).count();
        present_ = tick;
        // Now and then some are left due, to be first the next time.
        const std::uint64_t most = random_.chance(0.1) ? random_.below(5) : timers_max;
        for (std::uint64_t i = 0; i < most && pop_one(tick); ++i) ++popped_;
        if (!wheel_.has_due()) expect(armed_.empty() || armed_.begin()->first.first > tick);
        expect(wheel_.size() == timers_.size());
    }

    bool pop_one(std::int64_t tick) {
        TimerWheel::Due due;
        if (!wheel_.pop_due(due)) return false;
        expect(!armed_.empty());
        if (armed_.empty()) return false;
        const auto [order, payload] = *armed_.begin();
        Timer& timer = timers_[at_[payload]];
        expect(order.first <= tick);
        expect(due.id == timer.id);
        expect(due.payload == payload);
        expect(due.deadline == Time(std::chrono::milliseconds(order.first)));
        disarm_in_model(timer);
        return true;
    }

    void arm(Timer& timer, Time deadline) {
        const std::int64_t tick = std::chrono::ceil<std::chrono::milliseconds>(deadline.time_since_epoch()).count();
        timer.order = {std::max(tick, present_), ++armings_};
        timer.armed = true;
        armed_[timer.order] = timer.payload;
        expect(wheel_.armed(timer.id));
        expect(wheel_.deadline(timer.id) == Time(std::chrono::milliseconds(timer.order.first)));
    }

    void disarm_in_model(Timer& timer) {
        if (timer.armed) armed_.erase(timer.order);
        timer.armed = false;
    }

    Timer& some_timer() { return timers_[random_.below(timers_.size())]; }

    // Delays of every size up to 30 days, some at or before the present, few of them whole milliseconds.
    Time some_deadline() {
        const auto longest = std::int64_t{1} << random_.below(32);
        const std::int64_t ms = std::min<std::int64_t>(random_.between(-2, longest), 30ll * 24 * 3'600 * 1'000);
        return now_ + std::chrono::milliseconds(ms) - Duration(random_.chance(0.5) ? random_.between(0, 999'999) : 0);
    }

    // From standing still to three days at once.
    Duration some_step() {
        const std::int64_t longest =
            random_.chance(0.001) ? 3ll * 24 * 3'600 * 1'000 : std::int64_t{1} << random_.below(12);
        return std::chrono::microseconds(random_.between(0, longest * 1'000));
    }

    void expect(bool holds) { agrees_ = agrees_ && holds; }

    Random random_;
    Time now_ = just_before_wrap;
    std::int64_t present_ = std::chrono::floor<std::chrono::milliseconds>(now_.time_since_epoch()).count();
    TimerWheel wheel_{now_};
    std::vector<Timer> timers_;
    std::map<std::uint64_t, std::size_t> at_;  // payload to place in timers_
    std::map<Order, std::uint64_t> armed_;     // order to payload
    std::uint64_t last_payload_ = 0;
    std::uint64_t armings_ = 0;
    std::uint64_t popped_ = 0;
    bool agrees_ = true;
};

}  // namespace

TEST_CASE(
    "T-3, invariant 15: over millions of random operations the wheel gives the timers a plain ordered map gives") {
    constexpr std::uint64_t runs = 10;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        CAPTURE(seed);
        ModelRun run(seed);
        for (std::uint64_t i = 0; i < operations / runs && run.agrees(); ++i) run.step();
        CHECK(run.agrees());
        CHECK(run.popped() > operations / runs / 50);
        CHECK(run.now() > just_before_wrap + 1'000ms);
    }
}
