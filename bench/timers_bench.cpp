// What a timer costs with a million others outstanding: Muster's wheel, and the timers on top of it, beside the least
// that keeps a callback (bench/limits/flat_wheel.h), libuv's and libev's. All take the same delays in the same order,
// in interleaved rounds.
//
//   timers_bench [--quick] [--rounds N] [--outstanding N] [--json] [--require 1.0]
//
// Prints the median of each one's CPU time an operation, its bytes a timer, and how its time compares to the wheel's:
//   fresh       schedule a new timer and cancel it at once
//   random      cancel one of the million, anywhere among them, and schedule it anew
//   reschedule  move one of the million to another deadline
// With --json, one object: the nanoseconds of every round, by operation and by contender, and the bytes.
// With --require the exit code is 1 when the wheel takes more than that share of libev's or libuv's time.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ev.h>
#include <uv.h>

#include "base/log.h"
#include "base/no_log.h"
#include "base/random.h"
#include "base/virtual_clock.h"
#include "limits/flat_wheel.h"
#include "runtime/loop_time.h"
#include "runtime/timer_wheel.h"
#include "runtime/timers.h"

namespace {

using namespace muster;

// Set once, before the first contender is made.
std::size_t outstanding = 1'000'000;
constexpr std::int64_t delay_ms_max = 3'600'000;

struct Step {
    std::uint32_t timer;
    std::uint32_t delay_ms;
};

class Contender {
public:
    virtual ~Contender() = default;
    virtual std::string_view name() const = 0;
    virtual std::size_t bytes() const = 0;
    virtual void fresh(std::span<const Step> steps) = 0;
    virtual void random(std::span<const Step> steps) = 0;
    virtual void reschedule(std::span<const Step> steps) = 0;
};

class Wheel final : public Contender {
public:
    explicit Wheel(std::span<const Step> first) : wheel_(start) {
        wheel_.reserve(outstanding + 1);
        for (const Step& step : first) ids_.push_back(wheel_.schedule(deadline(step), step.timer));
    }
    std::string_view name() const override { return "muster wheel"; }
    std::size_t bytes() const override { return TimerWheel::bytes_per_timer(); }
    void fresh(std::span<const Step> steps) override {
        for (const Step& step : steps) wheel_.cancel(wheel_.schedule(deadline(step), step.timer));
    }
    void random(std::span<const Step> steps) override {
        for (const Step& step : steps) {
            wheel_.cancel(ids_[step.timer]);
            ids_[step.timer] = wheel_.schedule(deadline(step), step.timer);
        }
    }
    void reschedule(std::span<const Step> steps) override {
        for (const Step& step : steps) wheel_.reschedule(ids_[step.timer], deadline(step));
    }

private:
    static constexpr Time start{std::chrono::hours(1)};
    static Time deadline(const Step& step) { return start + std::chrono::milliseconds(step.delay_ms); }

    TimerWheel wheel_;
    std::vector<TimerId> ids_;
};

class WithCallbacks final : public Contender {
public:
    explicit WithCallbacks(std::span<const Step> first) {
        time_.begin_pass(clock_.now());
        timers_.reserve(outstanding + 1);
        for (const Step& step : first) ids_.push_back(schedule(step));
    }
    std::string_view name() const override { return "muster timers"; }
    std::size_t bytes() const override { return Timers::bytes_per_timer(); }
    void fresh(std::span<const Step> steps) override {
        for (const Step& step : steps) timers_.cancel(schedule(step));
    }
    void random(std::span<const Step> steps) override {
        for (const Step& step : steps) {
            timers_.cancel(ids_[step.timer]);
            ids_[step.timer] = schedule(step);
        }
    }
    void reschedule(std::span<const Step> steps) override {
        for (const Step& step : steps)
            static_cast<void>(timers_.reschedule(ids_[step.timer], std::chrono::milliseconds(step.delay_ms)));
    }

private:
    TimerId schedule(const Step& step) {
        return timers_.start({.first_delay = std::chrono::milliseconds(step.delay_ms)},
                             [this](const TimerFired&) { ++fired_; });
    }

    VirtualClock clock_;
    NoLog sink_;
    Log log_{clock_, sink_};
    LoopTime time_{clock_};
    Timers timers_{time_, log_};
    std::vector<TimerId> ids_;
    std::uint64_t fired_ = 0;
};

class Flat final : public Contender {
public:
    explicit Flat(std::span<const Step> first) : wheel_(outstanding + 1) {
        for (const Step& step : first) ids_.push_back(schedule(step));
    }
    std::string_view name() const override { return "flat wheel"; }
    std::size_t bytes() const override { return bench::FlatWheel::bytes_per_timer(); }
    void fresh(std::span<const Step> steps) override {
        for (const Step& step : steps) wheel_.cancel(schedule(step));
    }
    void random(std::span<const Step> steps) override {
        for (const Step& step : steps) {
            wheel_.cancel(ids_[step.timer]);
            ids_[step.timer] = schedule(step);
        }
    }
    void reschedule(std::span<const Step> steps) override {
        for (const Step& step : steps) wheel_.reschedule(ids_[step.timer], step.delay_ms);
    }

private:
    bench::FlatWheel::Id schedule(const Step& step) {
        return wheel_.schedule(step.delay_ms, [](void* fired) { ++*static_cast<std::uint64_t*>(fired); }, &fired_);
    }

    bench::FlatWheel wheel_;
    std::vector<bench::FlatWheel::Id> ids_;
    std::uint64_t fired_ = 0;
};

class Libuv final : public Contender {
public:
    explicit Libuv(std::span<const Step> first) : timers_(outstanding + 1) {
        uv_loop_init(&loop_);
        for (uv_timer_t& timer : timers_) uv_timer_init(&loop_, &timer);
        for (const Step& step : first) begin(timers_[step.timer], step);
    }
    std::string_view name() const override { return "libuv"; }
    std::size_t bytes() const override { return sizeof(uv_timer_t); }
    void fresh(std::span<const Step> steps) override {
        for (const Step& step : steps) {
            begin(timers_[outstanding], step);
            uv_timer_stop(&timers_[outstanding]);
        }
    }
    void random(std::span<const Step> steps) override {
        for (const Step& step : steps) {
            uv_timer_stop(&timers_[step.timer]);
            begin(timers_[step.timer], step);
        }
    }
    // Starting an active timer moves it.
    void reschedule(std::span<const Step> steps) override {
        for (const Step& step : steps) begin(timers_[step.timer], step);
    }

private:
    static void begin(uv_timer_t& timer, const Step& step) {
        uv_timer_start(&timer, [](uv_timer_t*) {}, step.delay_ms, 0);
    }

    uv_loop_t loop_{};
    std::vector<uv_timer_t> timers_;
};

class Libev final : public Contender {
public:
    explicit Libev(std::span<const Step> first) : loop_(ev_loop_new(EVFLAG_AUTO)), timers_(outstanding + 1) {
        for (ev_timer& timer : timers_) ev_timer_init(&timer, [](struct ev_loop*, ev_timer*, int) {}, 0., 0.);
        for (const Step& step : first) begin(timers_[step.timer], step);
    }
    std::string_view name() const override { return "libev"; }
    // The timer, and its node in the heap: a time and a pointer.
    std::size_t bytes() const override { return sizeof(ev_timer) + sizeof(double) + sizeof(void*); }
    void fresh(std::span<const Step> steps) override {
        for (const Step& step : steps) {
            begin(timers_[outstanding], step);
            ev_timer_stop(loop_, &timers_[outstanding]);
        }
    }
    void random(std::span<const Step> steps) override {
        for (const Step& step : steps) {
            ev_timer_stop(loop_, &timers_[step.timer]);
            begin(timers_[step.timer], step);
        }
    }
    // Its way to move a running timer: the repeat is the new delay.
    void reschedule(std::span<const Step> steps) override {
        for (const Step& step : steps) {
            timers_[step.timer].repeat = step.delay_ms / 1'000.;
            ev_timer_again(loop_, &timers_[step.timer]);
        }
    }

private:
    void begin(ev_timer& timer, const Step& step) {
        ev_timer_set(&timer, step.delay_ms / 1'000., 0.);
        ev_timer_start(loop_, &timer);
    }

    struct ev_loop* loop_;
    std::vector<ev_timer> timers_;
};

using Operation = void (Contender::*)(std::span<const Step>);
struct Named {
    const char* name;
    Operation operation;
};
constexpr std::array<Named, 3> operations{{
    {"fresh", &Contender::fresh},
    {"random", &Contender::random},
    {"reschedule", &Contender::reschedule},
}};

// Time on the processor, so that what else the machine does counts less.
Duration cpu_time() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
}

double ns_per_step(Contender& contender, Operation operation, std::span<const Step> steps) {
    const Duration begun = cpu_time();
    (contender.*operation)(steps);
    return static_cast<double>((cpu_time() - begun).count()) / static_cast<double>(steps.size());
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Options {
    std::size_t rounds = 21;
    std::size_t steps = 200'000;
    bool json = false;
    std::optional<double> require;
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const bool has_value = i + 1 < argc;
        if (word == "--quick") {
            options.rounds = 5;
        } else if (word == "--json") {
            options.json = true;
        } else if (word == "--rounds" && has_value) {
            options.rounds = std::strtoul(argv[++i], nullptr, 10);
        } else if (word == "--outstanding" && has_value) {
            outstanding = std::max<std::size_t>(1, std::strtoul(argv[++i], nullptr, 10));
        } else if (word == "--require" && has_value) {
            options.require = std::strtod(argv[++i], nullptr);
        } else {
            std::fprintf(stderr, "timers_bench: unknown flag '%s'; see the top of its file\n", argv[i]);
            std::exit(64);
        }
    }
    options.rounds = std::max<std::size_t>(options.rounds, 1);
    return options;
}

using Contenders = std::vector<std::unique_ptr<Contender>>;
using Rounds = std::vector<std::vector<double>>;  // nanoseconds, by contender

Rounds measure(const Contenders& contenders, Operation operation, std::span<const Step> steps, std::size_t rounds) {
    Rounds took(contenders.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t c = 0; c < contenders.size(); ++c)
            took[c].push_back(ns_per_step(*contenders[c], operation, steps));
    }
    return took;
}

void print_table(const Contenders& contenders, const char* operation, const Rounds& took) {
    for (std::size_t c = 0; c < contenders.size(); ++c) {
        const double ns = median(took[c]);
        std::printf("%-12s %-14s %10.1f %8zu %9.1fx\n", operation, std::string(contenders[c]->name()).c_str(), ns,
                    contenders[c]->bytes(), ns / median(took[0]));
    }
}

void print_json(const Contenders& contenders, const std::vector<Rounds>& all) {
    std::printf("{\"operations\":{");
    for (std::size_t o = 0; o < operations.size(); ++o) {
        std::printf("%s\"%s\":{", o == 0 ? "" : ",", operations[o].name);
        for (std::size_t c = 0; c < contenders.size(); ++c) {
            std::printf("%s\"%s\":[", c == 0 ? "" : ",", std::string(contenders[c]->name()).c_str());
            for (std::size_t i = 0; i < all[o][c].size(); ++i) std::printf("%s%.2f", i == 0 ? "" : ",", all[o][c][i]);
            std::printf("]");
        }
        std::printf("}");
    }
    std::printf("},\"bytes\":{");
    for (std::size_t c = 0; c < contenders.size(); ++c)
        std::printf("%s\"%s\":%zu", c == 0 ? "" : ",", std::string(contenders[c]->name()).c_str(),
                    contenders[c]->bytes());
    std::printf("}}\n");
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    Random chance(1);
    const auto delay = [&chance] { return static_cast<std::uint32_t>(chance.between(1, delay_ms_max)); };
    std::vector<Step> first;
    for (std::uint32_t i = 0; i < outstanding; ++i) first.push_back({i, delay()});
    std::vector<Step> steps;
    for (std::size_t i = 0; i < options.steps; ++i)
        steps.push_back({static_cast<std::uint32_t>(chance.below(outstanding)), delay()});

    constexpr std::size_t foreign = 3;  // the first of the others' libraries
    Contenders contenders;
    contenders.push_back(std::make_unique<Wheel>(first));
    contenders.push_back(std::make_unique<WithCallbacks>(first));
    contenders.push_back(std::make_unique<Flat>(first));
    contenders.push_back(std::make_unique<Libuv>(first));
    contenders.push_back(std::make_unique<Libev>(first));

    if (!options.json) {
        std::printf("%zu timers outstanding, median of %zu rounds of %zu\n", outstanding, options.rounds,
                    options.steps);
        std::printf("%-12s %-14s %10s %8s %10s\n", "operation", "timers", "ns", "bytes", "to wheel");
    }
    bool met = true;
    std::vector<Rounds> all;
    for (const Named& named : operations) {
        all.push_back(measure(contenders, named.operation, steps, options.rounds));
        const Rounds& took = all.back();
        if (!options.json) print_table(contenders, named.name, took);
        for (std::size_t c = foreign; c < contenders.size(); ++c) {
            if (options.require && median(took[0]) > median(took[c]) * *options.require) met = false;
        }
    }
    if (options.json) print_json(contenders, all);
    return met ? 0 : 1;
}
