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
#include "http/role.h"

namespace muster {

// HTTP thread only, but for what says otherwise. The clock and the log outlive it.
//
// Without an admin token everything is allowed; the daemon then listens on loopback only. With one, actions need a
// token whose role has the right (role.h), and reads need one too unless the listener is on loopback and the request
// was not forwarded from elsewhere. Instead of a token, an operator's certificate does: it proves a name, and the
// operator of that name has its role. A token that is given comes first. Wrong tokens are logged and answered with a
// growing delay. A right token is accepted at once, whatever else its address sent.
class AdminGate {
public:
    struct Rules {
        bool token_is_set = false;
        bool on_loopback = true;
        // Who holds the token; nobody for a wrong one. Compares in constant time. Any thread.
        std::function<std::optional<TokenHolder>(std::string_view token)> holder_of;
        bool open_metrics = false;
        // The operator of that name, which a certificate proves; nobody when there is none. Any thread.
        std::function<std::optional<TokenHolder>(std::string_view name)> holder_named{};
    };

    AdminGate(const Clock& clock, Log& log, Rules rules) : clock_(clock), log_(log), rules_(std::move(rules)) {}
    // After a reload.
    void set_rules(Rules rules) { rules_ = std::move(rules); }

    // Why not; none when the request may go on. Notes its role and its operator's name in it.
    std::optional<HttpResponse> refusal_of_read(HttpRequest& request);
    // The same of what only some may read: with an admin token set, a token whose role has the right is needed.
    std::optional<HttpResponse> refusal_of_secret_read(HttpRequest& request, Right right);
    // As a read, unless metrics are open to all.
    std::optional<HttpResponse> refusal_of_metrics(HttpRequest& request);
    // As a read; but a token that is given must be a right one, also where none is needed, and a certificate counts.
    std::optional<HttpResponse> refusal_of_introduction(HttpRequest& request);
    std::optional<HttpResponse> refusal_of_action(HttpRequest& request, Right right = Right::operate);

    // Whether a read that was let in would be let in now: an operator may have been removed meanwhile (S-5).
    bool still_admits(const HttpRequest& request) const;

    // Whether actions need a token at all.
    bool token_is_set() const { return rules_.token_is_set; }

    // Any thread, since the start: wrong or missing tokens, and of them those that were wrong.
    std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }
    std::uint64_t wrong_tokens() const { return wrong_tokens_.load(std::memory_order_relaxed); }

private:
    bool is_local(const HttpRequest& request) const { return rules_.on_loopback && !request.is_forwarded; }
    std::optional<HttpResponse> refusal_of_token(HttpRequest& request, Right right);
    Duration was_wrong(const IpAddress& from);

    const Clock& clock_;
    Log& log_;
    Rules rules_;
    GuessPace wrong_;
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::uint64_t> wrong_tokens_{0};
};

}  // namespace muster
