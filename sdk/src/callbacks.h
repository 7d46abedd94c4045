// Calling what the user gave us: nothing that it throws may pass through a client (fault 13).
#pragma once

#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "muster/outcome.h"

namespace muster::sdk {

using OnError = std::function<void(const Outcome&)>;

// What on_error itself throws is lost.
inline void tell_error(const OnError& on_error, ErrorCode code, std::string_view text) noexcept {
    try {
        if (on_error) on_error({code, std::string(text)});
    } catch (...) {
        return;
    }
}

// Runs `calls`, and tells on_error what it throws.
template <class Calls>
void guarded(const OnError& on_error, Calls&& calls) noexcept {
    try {
        calls();
    } catch (const std::exception& error) {
        tell_error(on_error, ErrorCode::callback_failed, error.what());
    } catch (...) {
        tell_error(on_error, ErrorCode::callback_failed, "a callback threw what is no std::exception");
    }
}

// Calls `callback`, if there is one.
template <class Callback, class... Args>
void call(const OnError& on_error, const Callback& callback, const Args&... args) noexcept {
    if (callback) guarded(on_error, [&] { callback(args...); });
}

// Callbacks that are owed from within a command. They are called later, so that no command calls back.
class OwedCalls {
public:
    void owe(std::function<void()> owed) { owed_.push_back(std::move(owed)); }
    bool empty() const { return owed_.empty(); }

    // Calls those owed so far; they may owe more, for the next time.
    void pay(const OnError& on_error) {
        for (const auto& owed : std::exchange(owed_, {})) call(on_error, owed);
    }

private:
    std::vector<std::function<void()>> owed_;
};

}  // namespace muster::sdk
