// A ready source of messages: any thread posts, the loop's thread handles.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/function.h"
#include "base/inbox.h"
#include "runtime/message_source.h"
#include "runtime/wakeup.h"

namespace muster {

// A message type with a `static constexpr std::string_view name` is known by it in warnings, others by the mailbox's.
template <class T>
class Mailbox final : public MessageSource {
public:
    using Handler = Function<void(const Pass&, T&)>;

    // The wake-up is the one that the loop waits on; it outlives the mailbox.
    Mailbox(std::string name, std::size_t capacity, Waiter& waiter, Handler handler)
        : name_(std::move(name)), waiter_(waiter), handler_(std::move(handler)), inbox_(capacity) {
        MUSTER_CHECK(static_cast<bool>(handler_), "a mailbox has a handler");
    }

    // Any thread. False, and the message untouched, when the mailbox is full. Wakes the loop.
    [[nodiscard]] bool post(T&& message) {
        if (!inbox_.push(std::move(message))) return false;
        waiter_.notify();
        return true;
    }

    // The same for many: moves as many as fit, from the front, and returns how many. One wake-up for all of them.
    [[nodiscard]] std::size_t post(std::span<T> messages) {
        const std::size_t posted = inbox_.push(messages);
        if (posted > 0) waiter_.notify();
        return posted;
    }

    std::string_view name() const override { return name_; }

    bool refill() override {
        if (next_ < batch_.size()) return true;
        batch_.clear();
        next_ = 0;
        const bool some = inbox_.take(batch_);
        unhandled_.store(batch_.size(), std::memory_order_relaxed);
        return some;
    }

    bool handle_next(const Pass& pass) override {
        if (next_ == batch_.size()) return false;
        T message = std::move(batch_[next_++]);
        unhandled_.store(batch_.size() - next_, std::memory_order_relaxed);
        handler_(pass, message);
        return true;
    }

    std::string_view last_handled() const override {
        if constexpr (requires {
                          { T::name } -> std::convertible_to<std::string_view>;
                      }) {
            return T::name;
        } else {
            return name_;
        }
    }

    std::size_t depth() const override { return inbox_.size() + unhandled_.load(std::memory_order_relaxed); }

private:
    const std::string name_;
    Waiter& waiter_;
    Handler handler_;                        // loop thread
    std::vector<T> batch_;                   // loop thread: what the last refill brought
    std::size_t next_ = 0;                   // loop thread: the first of it that is not handled
    Inbox<T> inbox_;                         // any thread
    std::atomic<std::size_t> unhandled_{0};  // any thread: what is left of the batch
};

}  // namespace muster
