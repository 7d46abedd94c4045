#include "http/routes.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace muster {
namespace {

// Takes what stands before the next slash off the front of `path`.
std::string_view take_part(std::string_view& path) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    return part;
}

// Whether `path` is one of `pattern`'s, and what its {parts} stand for.
bool fits(std::string_view pattern, std::string_view path, std::vector<HttpHeader>& values) {
    if (pattern.find('{') == std::string_view::npos) return pattern == path;
    if (std::count(pattern.begin(), pattern.end(), '/') != std::count(path.begin(), path.end(), '/')) return false;
    values.clear();
    while (!pattern.empty()) {
        const std::string_view wanted = take_part(pattern);
        const std::string_view part = take_part(path);
        if (wanted.starts_with('{')) {
            if (part.empty()) return false;
            values.push_back({std::string(wanted.substr(1, wanted.size() - 2)), std::string(part)});
        } else if (wanted != part) {
            return false;
        }
    }
    return true;
}

}  // namespace

void Routes::add(std::string method, std::string path, HttpHandler handler, Hosts hosts) {
    routes_.push_back({std::move(method), std::move(path), std::move(handler), hosts});
}

void Routes::handle(HttpRequest&& request, HttpResponder&& responder) const {
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    const Route* found = nullptr;
    std::string allowed;
    std::vector<HttpHeader> values;
    for (const Route& route : routes_) {
        if (!fits(route.path, request.path, values)) continue;
        if (route.method == method && !found) {
            found = &route;
            request.path_values = std::move(values);
        }
        if (!allowed.empty()) allowed += ", ";
        allowed += route.method == "GET" ? "GET, HEAD" : route.method;
    }

    const bool any_host = found && found->hosts == Hosts::any;
    if (!request.known_host && !any_host)
        return responder.send(
            http_error(421, "Unknown Host; use localhost, an IP address, or a name of listen.http_hosts"));
    if (found) return found->handler(std::move(request), std::move(responder));
    if (allowed.empty()) return responder.send(http_error(404, "Not found"));
    HttpResponse refusal = http_error(405, "Method not allowed");
    refusal.headers.push_back({"Allow", allowed});
    responder.send(std::move(refusal));
}

}  // namespace muster
