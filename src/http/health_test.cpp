#include "http/health.h"

#include <string>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Probing {
    Probing() { add_health_routes(routes, health); }

    // "200 body" or "503 body"
    std::string ask(std::string path) {
        HttpRequest request;
        request.method = "GET";
        request.path = std::move(path);
        request.known_host = true;
        std::string answer;
        routes.handle(std::move(request),
                      HttpResponder([&](HttpResponse&& got) { answer = std::to_string(got.status) + " " + got.body; }));
        return answer;
    }

    VirtualClock clock;
    Health health{clock};
    Routes routes;
};

}  // namespace

TEST_CASE_FIXTURE(Probing, "O-2: /healthz is good while the loop turns, and says so when it hangs") {
    // Before the first pass nothing can hang.
    CHECK(ask("/healthz") == "200 {\"status\":\"ok\"}\n");
    health.loop_turned(clock.now());
    clock.advance(Health::silence_max);
    CHECK(ask("/healthz") == "200 {\"status\":\"ok\"}\n");
    clock.advance(1ms);
    CHECK(ask("/healthz") == "503 {\"error\":\"The game loop has not turned for 5.0 s\"}\n");
    health.loop_turned(clock.now());
    CHECK(ask("/healthz") == "200 {\"status\":\"ok\"}\n");
}

TEST_CASE_FIXTURE(Probing, "O-2: /readyz is 503 with the reason until ready, while draining, and with the store down") {
    CHECK(ask("/readyz") == "503 {\"error\":\"Not ready: starting\"}\n");
    health.set_standing_by("standing by; owner is two");
    CHECK(ask("/readyz") == "503 {\"error\":\"Not ready: standing by; owner is two\"}\n");
    CHECK(ask("/healthz") == "200 {\"status\":\"ok\"}\n");
    health.set_phase(Health::Phase::recovering);
    CHECK(ask("/readyz") == "503 {\"error\":\"Not ready: recovering\"}\n");
    health.set_phase(Health::Phase::ready);
    CHECK(ask("/readyz") == "200 {\"status\":\"ready\"}\n");
    health.set_store_up(false);
    CHECK(ask("/readyz") == "503 {\"error\":\"Not ready: store down\"}\n");
    CHECK(ask("/healthz") == "200 {\"status\":\"ok\"}\n");
    health.set_store_misplaced(true);
    CHECK(ask("/readyz") ==
          "503 {\"error\":\"Not ready: the store's file was deleted or replaced; put it back, or restart Muster\"}\n");
    health.set_store_misplaced(false);
    health.set_store_up(true);
    CHECK(ask("/readyz") == "200 {\"status\":\"ready\"}\n");
    health.set_phase(Health::Phase::draining);
    CHECK(ask("/readyz") == "503 {\"error\":\"Not ready: draining\"}\n");
}
