// Typed domain events: who publishes does not know who listens (B-2).
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/check.h"
#include "base/function.h"
#include "base/log.h"
#include "runtime/event_queue.h"
#include "runtime/loop_time.h"
#include "runtime/pass.h"
#include "runtime/pass_budget.h"
#include "runtime/thread_guard.h"

namespace muster {

// Names one subscription; never used again.
struct SubscriptionId {
    std::uint64_t value = 0;  // 0 names none
    friend constexpr auto operator<=>(const SubscriptionId&, const SubscriptionId&) = default;
};

// Loop thread only. Events are handled in the order of publishing: of each, first the listeners to its type, then those
// to all, both in the order of subscribing. One listener's failure is logged and counted, and the others still hear it
// (L-5).
class Events {
public:
    // The queue's limit: a further event is dropped, counted and logged.
    static constexpr std::size_t waiting_max = 1'000'000;

    using Listener = Function<void(const EventView&), 64>;

    // Both outlive the events.
    Events(const LoopTime& time, Log& log) : time_(time), log_(log) {}

    // Queues the event for the present pass, or between passes for the next. False when too many wait.
    template <class E>
        requires Event<std::remove_cvref_t<E>>
    bool publish(E&& event) {
        guard_.check();
        if (queue_.size() >= waiting_max) return drop(std::remove_cvref_t<E>::name);
        queue_.push(std::forward<E>(event), time_.now(), published_ + 1);
        ++published_;
        return true;
    }

    // Calls `listener(const E&)`, or `listener(const E&, const EventView&)`, for each E from the next one handled on.
    template <Event E, class F>
        requires std::invocable<F&, const E&> || std::invocable<F&, const E&, const EventView&>
    SubscriptionId subscribe(F listener) {
        if constexpr (std::is_constructible_v<bool, F&>) {
            MUSTER_CHECK(static_cast<bool>(listener), "a listener can be called");
        }
        return add(listeners_to(event_type<E>), [call = std::move(listener)](const EventView& view) mutable {
            if constexpr (std::invocable<F&, const E&, const EventView&>) {
                call(*view.as<E>(), view);
            } else {
                call(*view.as<E>());
            }
        });
    }

    // Calls `listener(const EventView&)` for each event from the next one handled on.
    SubscriptionId subscribe_all(Listener listener);

    // The listener hears nothing more, also when it asks for this itself. False when there is no such subscription.
    bool cancel(SubscriptionId id);

    // For the loop, once in a pass: handles what waits, and what listeners publish meanwhile, as far as the budget
    // allows. What is left comes first in the next pass. Returns how many were handled.
    std::size_t dispatch(const Pass& pass, PassBudget& budget);

    std::size_t waiting() const { return queue_.size(); }
    std::uint64_t published() const { return published_; }
    std::uint64_t dropped() const { return dropped_; }
    // Listeners that threw.
    std::uint64_t failures() const { return failures_; }

    // The calling thread owns the events from now on.
    void bind_to_this_thread() { guard_.bind_to_this_thread(); }

private:
    struct Subscription {
        SubscriptionId id;
        Listener listener;
        bool cancelled = false;
    };
    // Each subscription has a place of its own: a listener runs from there while others come and go.
    using Listeners = std::vector<std::unique_ptr<Subscription>>;

    bool drop(std::string_view name);
    Listeners& listeners_to(const EventType& type);
    SubscriptionId add(Listeners& listeners, Listener listener);
    void tell(Listeners& listeners, const EventView& event);
    void listener_failed(const EventView& event, std::string_view why);
    void sweep_cancelled();

    const LoopTime& time_;
    Log& log_;
    ThreadGuard guard_;
    EventQueue queue_;
    boost::unordered_flat_map<const EventType*, std::size_t> by_type_;  // index into typed_
    std::deque<Listeners> typed_;                                       // a list never moves while it is walked
    Listeners all_;
    std::uint64_t subscribed_ = 0;
    std::uint64_t published_ = 0;
    std::uint64_t dropped_ = 0;
    std::uint64_t failures_ = 0;
    bool dispatching_ = false;
    bool some_cancelled_ = false;
};

}  // namespace muster
