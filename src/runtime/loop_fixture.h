// What tests of a loop share: a source that does what the test says, and a loop on a clock that the test moves.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fields.h"
#include "base/log.h"
#include "base/virtual_clock.h"
#include "runtime/game_loop.h"
#include "testing/kept_lines.h"

namespace muster {

// An event with nothing to say but its name.
struct Happened {
    static constexpr std::string_view name = "test.happened";
    void describe(FieldSink&) const {}
};

// A source whose messages are what to do. It is filled by the test, on the test's own thread.
class ScriptedSource final : public MessageSource {
public:
    using Action = std::function<void(const Pass&)>;

    explicit ScriptedSource(std::string name) : name_(std::move(name)) {}

    void post(std::string kind, Action action) { waiting_.push_back({std::move(kind), std::move(action)}); }

    std::string_view name() const override { return name_; }
    bool refill() override {
        if (when_refilling) when_refilling();
        for (; !waiting_.empty(); waiting_.pop_front()) present_.push_back(std::move(waiting_.front()));
        return !present_.empty();
    }
    bool handle_next(const Pass& pass) override {
        if (present_.empty()) return false;
        const Message message = std::move(present_.front());
        present_.pop_front();
        last_ = message.kind;
        ++handled;
        message.action(pass);
        return true;
    }
    std::string_view last_handled() const override { return last_; }
    std::size_t depth() const override { return waiting_.size() + present_.size(); }
    void catch_up() override {
        if (when_catching_up) when_catching_up();
    }

    std::size_t handled = 0;
    std::function<void()> when_catching_up;
    std::function<void()> when_refilling;

private:
    struct Message {
        std::string kind;
        Action action;
    };

    const std::string name_;
    std::deque<Message> waiting_;
    std::deque<Message> present_;
    std::string last_;
};

struct LoopFixture {
    explicit LoopFixture(const LoopConfig& config = {}) : loop(clock, log, config) {
        loop.add_source(servers);
        loop.add_source(players);
    }

    // Lets the time go by as a running loop would: it turns whenever the loop wants to.
    void run_until(Time end) {
        for (auto wake = loop.next_wake(); wake && *wake <= end; wake = loop.next_wake()) {
            if (*wake > clock.now()) clock.advance_to(*wake);
            loop.turn();
        }
        clock.advance_to(end);
        loop.turn();
    }

    VirtualClock clock;
    KeptLines kept;
    Log log{clock, kept};
    ScriptedSource servers{"servers"};
    ScriptedSource players{"players"};
    GameLoop loop;
};

}  // namespace muster
