// What an idle loop costs, and how long a message from another thread takes to wake it, beside a bare eventfd between
// two threads, in interleaved rounds; who sends is on one core, who sleeps on another.
//
//   idle_bench [--quick] [--seconds N] [--messages N]
//
// Prints the share of a core that the loop takes while it waits (for nothing, for a timer each 100 ms, and bound to
// wake every 5 ms as the seed does), then the wake-up's median and 99th percentile and their ratio.
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "base/log.h"
#include "base/no_log.h"
#include "base/system_clock.h"
#include "runtime/game_loop.h"
#include "runtime/mailbox.h"
#include "runtime/wakeup.h"

namespace {

using namespace muster;
using namespace std::chrono_literals;

struct Options {
    std::chrono::seconds idle{3};
    std::size_t messages = 2'000;
};

struct Ping {
    static constexpr std::string_view name = "ping";
    Time sent;
};

constexpr int core_of_sender = 0;
constexpr int core_of_sleeper = 1;

// Without a second core this changes nothing.
void pin_this_thread(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(core), &set);
    sched_setaffinity(0, sizeof set, &set);
}

// Somebody asleep on a thread of its own, who notes how long each ping took to reach it.
class Sleeper {
public:
    virtual ~Sleeper() = default;
    virtual void ping(Time sent) = 0;

    std::size_t received() const { return received_.load(std::memory_order_acquire); }
    // Only when all pings were received.
    std::vector<Duration> delays() const { return delays_; }

protected:
    void note(Duration delay) {
        delays_.push_back(delay);
        received_.fetch_add(1, std::memory_order_release);
    }

private:
    std::vector<Duration> delays_;
    std::atomic<std::size_t> received_{0};
};

class LoopSleeper final : public Sleeper {
public:
    explicit LoopSleeper(const Clock& clock) : clock_(clock) {
        loop_.add_source(mailbox_);
        thread_ = std::thread([this] {
            pin_this_thread(core_of_sleeper);
            loop_.run(wakeup_);
        });
    }
    ~LoopSleeper() override {
        loop_.stop();
        thread_.join();
    }
    void ping(Time sent) override {
        while (!mailbox_.post({sent})) std::this_thread::yield();
    }

private:
    const Clock& clock_;
    NoLog sink_;
    Log log_{clock_, sink_};
    Wakeup wakeup_{clock_};
    Mailbox<Ping> mailbox_{"pings", 64, wakeup_, [this](const Pass&, Ping& ping) { note(clock_.now() - ping.sent); }};
    GameLoop loop_{clock_, log_};
    std::thread thread_;
};

class BareSleeper final : public Sleeper {
public:
    explicit BareSleeper(const Clock& clock) : clock_(clock), event_(eventfd(0, EFD_CLOEXEC)) {
        thread_ = std::thread([this] {
            pin_this_thread(core_of_sleeper);
            for (std::uint64_t count = 0; read(event_, &count, sizeof count) > 0 && !stopping_.load();)
                note(clock_.now() - Time(Duration(sent_.load())));
        });
    }
    ~BareSleeper() override {
        stopping_.store(true);
        wake();
        thread_.join();
        close(event_);
    }
    void ping(Time sent) override {
        sent_.store(sent.time_since_epoch().count());
        wake();
    }

private:
    void wake() const {
        const std::uint64_t one = 1;
        if (write(event_, &one, sizeof one) < 0) std::perror("eventfd");
    }

    const Clock& clock_;
    const int event_;
    std::atomic<Duration::rep> sent_{0};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

Duration cpu_time() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto of = [](const timeval& t) {
        return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    return of(usage.ru_utime) + of(usage.ru_stime);
}

void measure_idle(const Clock& clock, std::chrono::seconds length, const char* what, const LoopConfig& config,
                  Duration timer) {
    NoLog sink;
    Log log(clock, sink);
    Wakeup wakeup(clock);
    GameLoop loop(clock, log, config);
    if (timer > 0ms && !loop.timers().every(timer, [](const TimerFired&) {})) return;
    std::thread thread([&] { loop.run(wakeup); });
    std::this_thread::sleep_for(100ms);
    const Duration before = cpu_time();
    std::this_thread::sleep_for(length);
    const Duration used = cpu_time() - before;
    loop.stop();
    thread.join();
    loop.bind_to_this_thread();
    std::printf("%-28s %8.3f %% of a core %8llu passes\n", what, 100 * to_seconds(used) / to_seconds(length),
                static_cast<unsigned long long>(loop.figures().ticks));
}

void ping_once(const Clock& clock, Sleeper& sleeper) {
    const std::size_t before = sleeper.received();
    std::this_thread::sleep_for(300us);  // so that it is asleep again
    sleeper.ping(clock.now());
    while (sleeper.received() == before) std::this_thread::yield();
}

double percentile_us(std::vector<Duration> delays, double share) {
    std::sort(delays.begin(), delays.end());
    const auto place = static_cast<std::size_t>(share * static_cast<double>(delays.size() - 1));
    return to_milliseconds(delays[place]) * 1'000;
}

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const bool has_value = i + 1 < argc;
        if (word == "--quick") {
            options = {1s, 500};
        } else if (word == "--seconds" && has_value) {
            options.idle = std::chrono::seconds(std::max(1l, std::strtol(argv[++i], nullptr, 10)));
        } else if (word == "--messages" && has_value) {
            options.messages = std::max(1ul, std::strtoul(argv[++i], nullptr, 10));
        } else {
            std::fprintf(stderr, "idle_bench: unknown flag '%s'; see the top of its file\n", argv[i]);
            std::exit(64);
        }
    }
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    const SystemClock clock;
    measure_idle(clock, options.idle, "idle, no timer", {}, 0ms);
    measure_idle(clock, options.idle, "idle, a timer each 100 ms", {}, 100ms);
    measure_idle(clock, options.idle, "idle, bound to 5 ms", {.idle_sleep = 5ms}, 0ms);

    LoopSleeper loop(clock);
    BareSleeper bare(clock);
    pin_this_thread(core_of_sender);
    for (std::size_t i = 0; i < options.messages; ++i) {
        ping_once(clock, bare);
        ping_once(clock, loop);
    }
    for (const double share : {0.5, 0.99}) {
        const double ours = percentile_us(loop.delays(), share);
        const double limit = percentile_us(bare.delays(), share);
        std::printf("wake-up p%-2.0f: loop %7.1f us, bare eventfd %7.1f us, ratio %.2f\n", share * 100, ours, limit,
                    ours / limit);
    }
    return 0;
}
