#include "cluster/cell_readiness.h"

#include <string>

#include <doctest/doctest.h>

using namespace muster;

namespace {

HttpResponse ready() {
    return {200, "application/json", "{\"status\":\"ready\"}\n"};
}

std::string told(const HttpResponse& response) {
    return std::to_string(response.status) + " " + response.body;
}

}  // namespace

TEST_CASE("O-2, N-7: a node that relays is ready when the owner is, and says why when it is not") {
    CHECK(told(owner_readiness(ready())) == "200 {\"status\":\"ready\"}\n");
    CHECK(told(owner_readiness(http_error(503, "Not ready: store down"))) ==
          "503 {\"error\":\"Not ready: store down\"}\n");
    CHECK(told(owner_readiness(std::nullopt)) == "503 {\"error\":\"Not ready: no owner answers\"}\n");
    CHECK(owner_readiness(HttpResponse{503, "text/plain", "gone"}).status == 503);
    // N-10: an owner of an earlier version does not know the question.
    CHECK(owner_readiness(http_error(400, "Not a request of the API")).status == 200);
}

TEST_CASE("O-2, N-7: with several cells a node is ready while one of them can serve, and names those that cannot") {
    const HttpResponse down = http_error(503, "Not ready: store down");
    CHECK(told(cells_readiness({{"eu", ready()}, {"us", ready()}})) == "200 {\"status\":\"ready\"}\n");
    CHECK(told(cells_readiness({{"eu", ready()}, {"us", std::nullopt}})) ==
          "200 {\"status\":\"ready\",\"not_ready\":[\"cell us: no owner answers\"]}\n");
    CHECK(told(cells_readiness({{"eu", down}, {"us", std::nullopt}})) ==
          "503 {\"error\":\"Not ready: cell eu: store down; cell us: no owner answers\"}\n");
    CHECK(cells_readiness({{"eu", down}, {"us", down}}).status == 503);
}
