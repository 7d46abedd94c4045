// Who may ask the API, and who may act by it (fault 70).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/guess_pace.h"
#include "base/ip_address.h"
#include "base/log.h"
#include "base/time.h"
#include "http/http_message.h"

namespace muster {

// HTTP thread only, but for what says otherwise. The clock and the log outlive it.
//
// Without an admin token everything is allowed; the daemon then listens on loopback only. With one, actions need it,
// and reads need it too unless the listener is on loopback. Wrong tokens are logged and answered with a growing delay.
// The right token is accepted at once, whatever else its address sent (S-4).
class AdminGate {
public:
    struct Rules {
        bool token_is_set = false;
        bool on_loopback = true;
        // Compares in constant time. Any thread.
        std::function<bool(std::string_view token)> token_is_right;
    };

    AdminGate(const Clock& clock, Log& log, Rules rules) : clock_(clock), log_(log), rules_(std::move(rules)) {}
    // After a reload.
    void set_rules(Rules rules) { rules_ = std::move(rules); }

    // Why not; none when the request may go on.
    std::optional<HttpResponse> refusal_of_read(const HttpRequest& request);
    std::optional<HttpResponse> refusal_of_action(const HttpRequest& request);

    // Any thread, since the start: wrong or missing tokens, and of them those that were wrong.
    std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }
    std::uint64_t wrong_tokens() const { return wrong_tokens_.load(std::memory_order_relaxed); }

private:
    std::optional<HttpResponse> refusal_of_token(const HttpRequest& request);
    Duration was_wrong(const IpAddress& from);

    const Clock& clock_;
    Log& log_;
    Rules rules_;
    GuessPace wrong_;
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::uint64_t> wrong_tokens_{0};
};

}  // namespace muster
