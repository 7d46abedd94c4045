#include "http/routes.h"

#include <string>

#include <doctest/doctest.h>

using namespace muster;

namespace {

struct Routing {
    Routing() {
        const auto say = [](std::string text) {
            return [text](HttpRequest&&, HttpResponder&& responder) { responder.send({200, "text/plain", text, {}}); };
        };
        routes.add("GET", "/a", say("got a"));
        routes.add("POST", "/a", say("posted a"));
        routes.add("GET", "/servers/{id}", say_values());
        routes.add("POST", "/servers/{id}/drain", say_values());
        routes.add("GET", "/probe", say("probe"), Routes::Hosts::any);
    }

    static HttpHandler say_values() {
        return [](HttpRequest&& request, HttpResponder&& responder) {
            responder.send({200, "text/plain", std::string(request.path_value("id")), {}});
        };
    }

    HttpResponse ask(std::string method, std::string path, bool known_host = true) {
        HttpRequest request;
        request.method = std::move(method);
        request.path = std::move(path);
        request.known_host = known_host;
        HttpResponse answer;
        routes.handle(std::move(request), HttpResponder([&](HttpResponse&& got) { answer = std::move(got); }));
        return answer;
    }

    Routes routes;
};

}  // namespace

TEST_CASE_FIXTURE(Routing, "a request reaches the handler of its method and path, HEAD that of GET") {
    CHECK(ask("GET", "/a").body == "got a");
    CHECK(ask("HEAD", "/a").body == "got a");
    CHECK(ask("POST", "/a").body == "posted a");
}

TEST_CASE_FIXTURE(Routing, "a part of a path in braces stands for anything but nothing and a slash") {
    CHECK(ask("GET", "/servers/42").body == "42");
    CHECK(ask("GET", "/servers/a%2Fb").body == "a%2Fb");
    CHECK(ask("POST", "/servers/7/drain").body == "7");
    CHECK(ask("GET", "/servers/").status == 404);
    CHECK(ask("GET", "/servers").status == 404);
    CHECK(ask("GET", "/servers/1/2").status == 404);
    CHECK(ask("GET", "/servers/1/").status == 404);
    CHECK(ask("POST", "/servers//drain").status == 404);
    CHECK(ask("GET", "/servers/7/drain").status == 405);
    CHECK(ask("POST", "/servers/7").status == 405);
}

TEST_CASE_FIXTURE(Routing, "O-2: an unknown path is 404, an unknown method 405 with those allowed") {
    CHECK(ask("GET", "/b").status == 404);
    CHECK(ask("GET", "/a/").status == 404);
    CHECK(ask("GET", "/A").status == 404);
    CHECK(ask("GET", "").status == 404);
    CHECK(ask("GET", "/b").body == "{\"error\":\"Not found\"}\n");
    const HttpResponse refused = ask("DELETE", "/a");
    CHECK(refused.status == 405);
    REQUIRE(refused.headers.size() == 1);
    CHECK(refused.headers[0].name == "Allow");
    CHECK(refused.headers[0].value == "GET, HEAD, POST");
}

TEST_CASE_FIXTURE(Routing, "fault 70: a foreign Host learns nothing but what probes may ask") {
    CHECK(ask("GET", "/a", false).status == 421);
    CHECK(ask("POST", "/a", false).status == 421);
    CHECK(ask("GET", "/b", false).status == 421);
    CHECK(ask("DELETE", "/probe", false).status == 421);
    CHECK(ask("GET", "/probe", false).status == 200);
}
