#include "http/routes.h"

#include <utility>

namespace muster {

void Routes::add(std::string method, std::string path, HttpHandler handler, Hosts hosts) {
    routes_.push_back({std::move(method), std::move(path), std::move(handler), hosts});
}

void Routes::handle(HttpRequest&& request, HttpResponder&& responder) const {
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    const Route* found = nullptr;
    std::string allowed;
    for (const Route& route : routes_) {
        if (route.path != request.path) continue;
        if (route.method == method) found = &route;
        if (!allowed.empty()) allowed += ", ";
        allowed += route.method == "GET" ? "GET, HEAD" : route.method;
    }

    const bool any_host = found && found->hosts == Hosts::any;
    if (!request.known_host && !any_host)
        return responder.send(http_error(421, "Unknown Host; use the address that Muster listens on, or localhost"));
    if (found) return found->handler(std::move(request), std::move(responder));
    if (allowed.empty()) return responder.send(http_error(404, "Not found"));
    HttpResponse refusal = http_error(405, "Method not allowed");
    refusal.headers.push_back({"Allow", allowed});
    responder.send(std::move(refusal));
}

}  // namespace muster
