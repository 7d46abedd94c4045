// A small world on Muster's runtime: 60 passes a second move it, another thread talks to it, and an event tells of it.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "base/system_clock.h"
#include "runtime/game_loop.h"
#include "runtime/mailbox.h"
#include "runtime/wakeup.h"

using namespace muster;
using namespace std::chrono_literals;

// Something that happened: it has a name, and says what there is to know about it.
struct WallHit {
    static constexpr std::string_view name = "ball.wall_hit";
    double speed = 0;
    void describe(FieldSink& fields) const { fields.real("speed", speed); }
};

// Something that another thread wants of the world.
struct Push {
    static constexpr std::string_view name = "push";
    double by = 0;
};

class Printer final : public LogSink {
public:
    void write(const LogRecord& record) noexcept override {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(record.line.size()), record.line.data());
    }
};

int main() {
    constexpr Duration frame = std::chrono::nanoseconds(1s) / 60;
    const SystemClock clock;
    Printer printer;
    Log log(clock, printer);
    Wakeup wakeup(clock);
    GameLoop loop(clock, log);

    // The world: only the loop's thread touches it, so it needs no lock.
    double place = 0;
    double speed = 1;
    std::uint64_t frames = 0;
    int hits = 0;

    Mailbox<Push> pushes("pushes", 64, wakeup, [&](const Pass&, Push& push) { speed += push.by; });
    loop.add_source(pushes);
    loop.events().subscribe<WallHit>([&](const WallHit& hit) {
        ++hits;
        std::printf("the ball hits the wall at speed %.1f\n", hit.speed);
    });

    const auto moved = loop.timers().every(frame, [&](const TimerFired& fired) {
        // After a hiccup the timer fires once, and says how many frames went by unseen.
        const std::uint64_t steps = 1 + fired.missed;
        frames += steps;
        place += speed * to_seconds(frame) * static_cast<double>(steps);
        if (place < 1) return;
        place = 0;
        loop.events().publish(WallHit{speed});
    });
    const auto ended = loop.timers().once(2s, [&](const TimerFired&) { loop.stop(); });
    if (!moved || !ended) return 1;

    std::thread player([&] {
        std::this_thread::sleep_for(500ms);
        if (!pushes.post({3.0})) std::puts("the world is too busy");
    });
    loop.run(wakeup);
    player.join();
    std::printf("%llu frames, %d hits, last speed %.1f\n", static_cast<unsigned long long>(frames), hits, speed);
    return 0;
}
