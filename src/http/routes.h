// Which handler answers which path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/http_message.h"

namespace muster {

// Filled before the server starts; afterwards any thread may ask it.
class Routes {
public:
    // Which Host headers a path accepts. An unknown Host is refused, except on paths that show nothing a
    // foreign page should not learn: probes and scrapers use host names that we cannot know.
    enum class Hosts : std::uint8_t { known, any };

    // `path` is matched whole; a part of it such as {id} stands for anything but a slash and is found in the request's
    // path_values. A GET handler also answers HEAD.
    void add(std::string method, std::string path, HttpHandler handler, Hosts hosts = Hosts::known);

    // Answers 404, 405 with Allow, or 421 where no handler does.
    void handle(HttpRequest&& request, HttpResponder&& responder) const;

    // Calls visit(method, path) for each, in the order of adding.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const Route& route : routes_) visit(route.method, route.path);
    }

private:
    struct Route {
        std::string method;
        std::string path;
        HttpHandler handler;
        Hosts hosts;
    };
    std::vector<Route> routes_;
};

}  // namespace muster
