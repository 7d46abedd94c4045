#include "http/admin_gate.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/planted.h"

namespace muster {
namespace {

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

}  // namespace

std::optional<HttpResponse> AdminGate::refusal_of_read(HttpRequest& request) {
    if (is_local(request)) {
        if (!rules_.token_is_set) request.role = Role::admin;
        return std::nullopt;
    }
    if (!rules_.token_is_set) return http_error(401, "No admin token is configured, so only this machine may ask");
    return refusal_of_token(request, Right::read);
}

std::optional<HttpResponse> AdminGate::refusal_of_secret_read(HttpRequest& request, Right right) {
    if (rules_.token_is_set) return refusal_of_token(request, right);
    if (!rules_.on_loopback) return http_error(401, "No admin token is configured, so this is read on loopback only");
    request.role = Role::admin;
    return std::nullopt;
}

std::optional<HttpResponse> AdminGate::refusal_of_metrics(HttpRequest& request) {
    return rules_.open_metrics ? std::nullopt : refusal_of_read(request);
}

std::optional<HttpResponse> AdminGate::refusal_of_introduction(HttpRequest& request) {
    const bool gives_token = !request.header("Authorization").empty();
    // A certificate that names no operator proves nobody; it may read what anybody may.
    const bool is_named =
        !request.shown_name.empty() && rules_.holder_named && rules_.holder_named(request.shown_name).has_value();
    const bool says_who = gives_token || is_named;
    return rules_.token_is_set && says_who ? refusal_of_token(request, Right::read) : refusal_of_read(request);
}

std::optional<HttpResponse> AdminGate::refusal_of_action(HttpRequest& request, Right right) {
    if (rules_.token_is_set) {
        if (auto refusal = refusal_of_token(request, right)) return refusal;
    } else if (is_local(request)) {
        request.role = Role::admin;
    } else {
        return http_error(401, "No admin token is configured, so actions are allowed on loopback only");
    }
    if (!is_json(request.header("Content-Type")))
        return http_error(415, "An action needs Content-Type: application/json");
    return std::nullopt;
}

bool AdminGate::still_admits(const HttpRequest& request) const {
    if (is_local(request)) return true;
    if (!rules_.token_is_set) return false;
    const std::string_view given = request.header("Authorization");
    if (given.empty()) return rules_.holder_named && rules_.holder_named(request.shown_name).has_value();
    return rules_.holder_of(given.substr(std::min(given.size(), scheme.size()))).has_value();
}

std::optional<HttpResponse> AdminGate::refusal_of_token(HttpRequest& request, Right right) {
    const std::string_view given = request.header("Authorization");
    const bool bearer = starts_with_any_case(given, scheme);
    const bool locked_out = planted(Bug::admin_locked_out) && wrong_tokens_.load() >= 10;
    const bool by_certificate = given.empty() && !request.shown_name.empty() && rules_.holder_named;
    auto holder = bearer && !locked_out ? rules_.holder_of(given.substr(scheme.size())) : std::nullopt;
    if (by_certificate) holder = rules_.holder_named(request.shown_name);
    if (holder) {
        request.role = holder->role;
        request.operator_name = holder->name;
        if (may(holder->role, right)) return std::nullopt;
        log_.with(LogLevel::warning, {{"operator", holder->name}, {"peer", request.peer.to_string()}},
                  "Refused {} {}: the role is {}, this needs {}", request.method, request.path, to_string(holder->role),
                  to_string(least_role(right)));
        return http_error(403, fmt::format("This {}'s role is {}; this needs {}", by_certificate ? "operator" : "token",
                                           to_string(holder->role), to_string(least_role(right))));
    }
    failures_.fetch_add(1, std::memory_order_relaxed);
    if (by_certificate)
        return http_error(401, fmt::format("No operator is named {}, as this certificate is", request.shown_name));
    HttpResponse refusal =
        http_error(401, given.empty() ? "Needs Authorization: Bearer <admin token>" : "Wrong admin token");
    refusal.headers.push_back({"WWW-Authenticate", "Bearer"});
    // Who brings no token guesses nothing.
    if (!given.empty()) refusal.held_back = was_wrong(request.peer);
    return refusal;
}

Duration AdminGate::was_wrong(const IpAddress& from) {
    wrong_tokens_.fetch_add(1, std::memory_order_relaxed);
    const GuessPace::Verdict verdict = wrong_.wrong(clock_.now(), from);
    if (verdict.tell) log_.with(LogLevel::warning, {{"port", "http"}, {"peer", from.to_string()}}, "Wrong admin token");
    return verdict.delay;
}

}  // namespace muster
