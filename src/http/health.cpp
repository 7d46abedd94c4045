#include "http/health.h"

#include <utility>

#include <fmt/core.h>

namespace muster {
namespace {

constexpr const char* healthz = "/healthz";
constexpr const char* readyz = "/readyz";

void add_probe(Routes& routes, std::string path, std::string good,
               std::function<std::optional<std::string>()> problem) {
    const auto answer = [good = std::move(good), problem = std::move(problem)](HttpRequest&&,
                                                                               HttpResponder&& responder) {
        if (const auto why = problem()) return responder.send(http_error(503, *why));
        responder.send({200, "application/json", fmt::format("{{\"status\":\"{}\"}}\n", good), {}});
    };
    routes.add("GET", std::move(path), answer, Routes::Hosts::any);
}

}  // namespace

std::optional<std::string> Health::hang() const {
    const Duration::rep turned_at = turned_at_.load(std::memory_order_relaxed);
    if (turned_at == not_yet) return std::nullopt;
    const Duration silence = clock_.now() - Time(Duration(turned_at));
    if (silence <= silence_max) return std::nullopt;
    return fmt::format("The game loop has not turned for {:.1f} s", to_seconds(silence));
}

std::optional<std::string> Health::unreadiness() const {
    switch (phase_.load(std::memory_order_acquire)) {
        case Phase::starting:
            return "Not ready: starting";
        case Phase::standing_by: {
            const std::lock_guard lock(mutex_);
            if (relays_) return std::nullopt;
            return "Not ready: " + standing_by_;
        }
        case Phase::recovering:
            return "Not ready: recovering";
        case Phase::draining:
            return "Not ready: draining";
        case Phase::ready:
            break;
    }
    if (store_misplaced_.load(std::memory_order_acquire))
        return "Not ready: the store's file was deleted or replaced; put it back, or restart Muster";
    if (!store_up_.load(std::memory_order_acquire)) return "Not ready: store down";
    return std::nullopt;
}

void Health::set_certificate_warning(std::string warning) {
    const std::lock_guard lock(mutex_);
    certificate_warning_ = std::move(warning);
}

std::string Health::certificate_warning() const {
    const std::lock_guard lock(mutex_);
    return certificate_warning_;
}

void Health::set_refusal_warning(std::string warning) {
    const std::lock_guard lock(mutex_);
    refusal_warning_ = std::move(warning);
}

std::string Health::refusal_warning() const {
    const std::lock_guard lock(mutex_);
    return refusal_warning_;
}

void Health::set_standing_by(std::string why, bool relays) {
    {
        const std::lock_guard lock(mutex_);
        standing_by_ = std::move(why);
        relays_ = relays;
    }
    set_phase(Phase::standing_by);
}

bool is_probe(std::string_view path) {
    return path == healthz || path == readyz;
}

void add_health_routes(Routes& routes, const Health& health) {
    add_probe(routes, healthz, "ok", [&health] { return health.hang(); });
    add_probe(routes, readyz, "ready", [&health] { return health.unreadiness(); });
}

}  // namespace muster
