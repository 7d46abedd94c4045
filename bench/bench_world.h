// A core of its own with neither sockets nor disk, turned by hand, for benchmarks of what core itself costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <malloc.h>

#include "base/log.h"
#include "base/no_log.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "core/core.h"
#include "protocol/codec.h"
#include "runtime/message_source.h"

namespace muster::bench {

inline ConnectionId link_of(std::size_t i) {
    return {static_cast<std::uint32_t>(i), 1};
}

// Says at once that everything is durable, and keeps nothing.
class Forgetting final : public BatchOutput {
public:
    bool submit(RecordBatch&& batch) override {
        outcomes.push_back({batch.number, StoreFault::none});
        return true;
    }
    std::deque<BatchOutcome> outcomes;
};

inline double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline std::size_t heap_bytes() {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// The daemon's game thread, turned by hand.
class BenchWorld final : public MessageSource {
public:
    BenchWorld(LinkOutput& links, bool heartbeats = false)
        : log_(clock, no_log_, LogLevel::error), loop(clock, log_, loop_config()) {
        CoreConfig config;
        config.fleet.regions = {{RegionId(0), "USE"}};
        config.matchmakers.regions = config.fleet.regions;
        config.players.heartbeats.enabled = heartbeats;
        config.players.logins_per_minute = 0;  // what that remembers is of the last minute's logins, not of sessions
        config.server_token = [](std::string_view) { return true; };
        config.matchmaker_token = [](std::string_view) { return true; };
        config.player_credential = [](std::string_view, std::string_view credential, UnixMs) {
            return Result<std::optional<AccountId>, Refusal>(AccountId(std::atoi(std::string(credential).c_str())));
        };
        core.emplace(std::move(config), Core::Parts{loop, log_, links, store, entropy_, clock, clock.wall()},
                     RecoveredState{});
        loop.add_source(*this);
        loop.on_flush([this](const Pass& pass) { core->end_of_pass(pass); });
        settle();
    }

    // One pass; false when it found something to do.
    bool turn() {
        const double began = cpu_seconds();
        const bool idle = loop.turn().idle();
        longest_pass = std::max(longest_pass, cpu_seconds() - began);
        return idle;
    }
    void settle() {
        while (!turn() || !store.outcomes.empty() || next_ < batch_.size()) {
        }
    }

    // Runs `action` for each number below `count`, in passes of a thousand.
    void for_all(std::size_t count, const std::function<void(const Pass&, std::size_t)>& action) {
        constexpr std::size_t share = 1'000;
        for (std::size_t first = 0; first < count; first += share) {
            batch_.clear();
            for (std::size_t i = first; i < std::min(count, first + share); ++i) batch_.push_back(i);
            next_ = 0;
            action_ = &action;
            settle();
        }
        batch_.clear();
        next_ = 0;
    }

    // What a peer sends, as the network would hand it over.
    template <Message M>
    void say(const Pass& pass, ConnectionId from, const M& message) {
        scratch_.clear();
        encode(message, M::port == Port::players ? ByteOrder::big : ByteOrder::little, scratch_);
        constexpr std::size_t head = 4;  // length and code
        core->frame(pass, from, PeerFrame{M::code, std::span(scratch_).subspan(head), pass.now, 0});
    }

    std::string_view name() const override { return "bench"; }
    bool refill() override { return !store.outcomes.empty() || next_ < batch_.size(); }
    bool handle_next(const Pass& pass) override {
        if (!store.outcomes.empty()) {
            core->store_outcome(pass, store.outcomes.front());
            store.outcomes.pop_front();
            return true;
        }
        if (next_ == batch_.size()) return false;
        (*action_)(pass, batch_[next_++]);
        return true;
    }
    std::string_view last_handled() const override { return "bench"; }
    std::size_t depth() const override { return 0; }

    VirtualClock clock;
    NoLog no_log_;
    Log log_;
    SeededEntropy entropy_{1};
    Forgetting store;
    GameLoop loop;
    std::optional<Core> core;
    double longest_pass = 0;  // in seconds of CPU; whoever measures sets it to 0 first

private:
    static LoopConfig loop_config() {
        LoopConfig config;
        config.share_least = 100'000;
        return config;
    }

    std::vector<std::byte> scratch_;
    std::vector<std::size_t> batch_;
    std::size_t next_ = 0;
    const std::function<void(const Pass&, std::size_t)>* action_ = nullptr;
};

}  // namespace muster::bench
