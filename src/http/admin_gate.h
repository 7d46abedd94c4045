// Who may ask the API, and who may act by it (fault 70).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/ip_address.h"
#include "base/time.h"
#include "http/http_message.h"

namespace muster {

// HTTP thread only, but for what says otherwise. The clock outlives it.
//
// Without an admin token everything is allowed; the daemon listens on loopback only then. With one, actions need it,
// and reads too when the listener can be reached from elsewhere. An address that was wrong too often has to wait, and
// its token is not even looked at until then.
class AdminGate {
public:
    static constexpr int wrong_per_minute_max = 10;
    // Addresses that are remembered; when more are wrong at once, all others wait too.
    static constexpr std::size_t addresses_max = 4096;

    struct Rules {
        bool token_is_set = false;
        bool on_loopback = true;
        // Compares in constant time. Any thread.
        std::function<bool(std::string_view token)> token_is_right;
    };

    AdminGate(const Clock& clock, Rules rules) : clock_(clock), rules_(std::move(rules)) {}
    // After a reload.
    void set_rules(Rules rules) { rules_ = std::move(rules); }

    // Why not; none when the request may go on.
    std::optional<HttpResponse> refusal_of_read(const HttpRequest& request);
    std::optional<HttpResponse> refusal_of_action(const HttpRequest& request);

    // Any thread: wrong or missing tokens since the start.
    std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

private:
    struct Guesses {
        int wrong = 0;
        Time since{};
    };

    std::optional<HttpResponse> refusal_of_token(const HttpRequest& request);
    bool must_wait(Time now, const IpAddress& address);
    void was_wrong(Time now, const IpAddress& address);

    const Clock& clock_;
    Rules rules_;
    std::unordered_map<IpAddress, Guesses> guesses_;  // by the network that one holder usually has
    std::atomic<std::uint64_t> failures_{0};
};

}  // namespace muster
