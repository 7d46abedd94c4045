#include "runtime/events.h"

#include "runtime/flagged.h"
#include "runtime/guarded_call.h"

namespace muster {

SubscriptionId Events::subscribe_all(Listener listener) {
    MUSTER_CHECK(static_cast<bool>(listener), "a listener can be called");
    return add(all_, std::move(listener));
}

bool Events::cancel(SubscriptionId id) {
    guard_.check();
    const auto cancel_in = [id](Listeners& listeners) {
        for (const auto& subscription : listeners) {
            if (subscription->id == id) return !std::exchange(subscription->cancelled, true);
        }
        return false;
    };
    bool found = cancel_in(all_);
    for (auto list = typed_.begin(); !found && list != typed_.end(); ++list) found = cancel_in(*list);
    if (!found) return false;
    some_cancelled_ = true;
    // While events are handled the one that runs now may be among them: it is removed between two events.
    if (!dispatching_) sweep_cancelled();
    return true;
}

std::size_t Events::dispatch(const Pass&, PassBudget& budget) {
    guard_.check();
    MUSTER_CHECK(!dispatching_, "a listener does not dispatch the events that called it");
    const Flagged dispatching(dispatching_);
    std::size_t handled = 0;
    while (!queue_.empty() && budget.allows()) {
        const EventView event = queue_.front();
        const auto typed = by_type_.find(&event.type());
        if (typed != by_type_.end()) tell(typed_[typed->second], event);
        tell(all_, event);
        if (some_cancelled_) sweep_cancelled();
        const std::string_view name = event.name();
        queue_.pop();
        ++handled;
        budget.ended(HandlerKind::event, [&] { return name; });
    }
    return handled;
}

bool Events::drop(std::string_view name) {
    ++dropped_;
    log_.with(LogLevel::error, {{"waiting", queue_.size()}}, "Event {} dropped: too many wait", name);
    return false;
}

Events::Listeners& Events::listeners_to(const EventType& type) {
    guard_.check();
    if (const auto known = by_type_.find(&type); known != by_type_.end()) return typed_[known->second];
    typed_.emplace_back();
    by_type_.emplace(&type, typed_.size() - 1);
    return typed_.back();
}

SubscriptionId Events::add(Listeners& listeners, Listener listener) {
    guard_.check();
    const SubscriptionId id{++subscribed_};
    listeners.push_back(std::make_unique<Subscription>(id, std::move(listener)));
    return id;
}

void Events::tell(Listeners& listeners, const EventView& event) {
    // Who subscribes meanwhile hears the next event.
    const std::size_t count = listeners.size();
    for (std::size_t i = 0; i < count; ++i) {
        Subscription& subscription = *listeners[i];
        if (subscription.cancelled) continue;
        guarded_call([&] { subscription.listener(event); }, [&](std::string_view why) { listener_failed(event, why); });
    }
}

void Events::listener_failed(const EventView& event, std::string_view why) {
    ++failures_;
    log_.with(LogLevel::error, {{"error", why}}, "Event {} listener failed", event.name());
}

void Events::sweep_cancelled() {
    some_cancelled_ = false;
    const auto cancelled = [](const auto& subscription) { return subscription->cancelled; };
    for (Listeners& listeners : typed_) std::erase_if(listeners, cancelled);
    std::erase_if(all_, cancelled);
}

}  // namespace muster
