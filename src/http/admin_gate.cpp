#include "http/admin_gate.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Duration window = 1min;
constexpr std::string_view scheme = "Bearer ";

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool starts_with_any_case(std::string_view text, std::string_view beginning) {
    return text.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), text.begin(),
                                                         [](char a, char b) { return lower(a) == lower(b); });
}

// A page from elsewhere can send a form, but not this type without being asked by the browser first.
bool is_json(std::string_view content_type) {
    const std::string_view type = content_type.substr(0, content_type.find(';'));
    return starts_with_any_case(type, "application/json") &&
           type.find_last_not_of(' ') + 1 == std::string_view("application/json").size();
}

// Whoever holds an IPv6 address holds its whole /64.
IpAddress network_of(const IpAddress& address) {
    if (address.is_v4()) return address;
    auto bytes = address.bytes();
    std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
    return IpAddress::v6(bytes);
}

HttpResponse wait_a_minute() {
    HttpResponse response = http_error(429, "Too many wrong admin tokens from this address; wait a minute");
    response.headers.push_back({"Retry-After", "60"});
    return response;
}

}  // namespace

std::optional<HttpResponse> AdminGate::refusal_of_read(const HttpRequest& request) {
    if (!rules_.token_is_set || rules_.on_loopback) return std::nullopt;
    return refusal_of_token(request);
}

std::optional<HttpResponse> AdminGate::refusal_of_action(const HttpRequest& request) {
    if (rules_.token_is_set) {
        if (auto refusal = refusal_of_token(request)) return refusal;
    } else if (!rules_.on_loopback) {
        return http_error(401, "No admin token is configured, so actions are allowed on loopback only");
    }
    if (!is_json(request.header("Content-Type")))
        return http_error(415, "An action needs Content-Type: application/json");
    return std::nullopt;
}

std::optional<HttpResponse> AdminGate::refusal_of_token(const HttpRequest& request) {
    const Time now = clock_.now();
    const IpAddress from = network_of(request.peer);
    if (must_wait(now, from)) return wait_a_minute();
    const std::string_view given = request.header("Authorization");
    const bool bearer = starts_with_any_case(given, scheme);
    if (bearer && rules_.token_is_right(given.substr(scheme.size()))) return std::nullopt;
    failures_.fetch_add(1, std::memory_order_relaxed);
    // Who brings no token guesses nothing.
    if (!given.empty()) was_wrong(now, from);
    HttpResponse refusal =
        http_error(401, given.empty() ? "Needs Authorization: Bearer <admin token>" : "Wrong admin token");
    refusal.headers.push_back({"WWW-Authenticate", "Bearer"});
    return refusal;
}

bool AdminGate::must_wait(Time now, const IpAddress& address) {
    const auto found = guesses_.find(address);
    if (found == guesses_.end()) {
        if (guesses_.size() < addresses_max) return false;
        std::erase_if(guesses_, [now](const auto& entry) { return now - entry.second.since >= window; });
        return guesses_.size() >= addresses_max;
    }
    if (now - found->second.since >= window) {
        guesses_.erase(found);
        return false;
    }
    return found->second.wrong >= wrong_per_minute_max;
}

void AdminGate::was_wrong(Time now, const IpAddress& address) {
    Guesses& guesses = guesses_[address];
    if (guesses.wrong++ == 0) guesses.since = now;
}

}  // namespace muster
