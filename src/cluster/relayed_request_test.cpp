#include "cluster/relayed_request.h"

#include <doctest/doctest.h>

#include "base/random.h"

using namespace muster;

namespace {

HttpRequest sample_request() {
    HttpRequest request;
    request.method = "POST";
    request.path = "/api/v1/servers/1/drain";
    request.query = "a=b";
    request.headers = {{"Authorization", "Bearer x"}, {"Host", "muster-2"}};
    request.body = "{\"draining\":true}";
    request.peer = *IpAddress::parse("10.9.8.7");
    request.known_host = true;
    request.shown_name = "alice";
    return request;
}

}  // namespace

TEST_CASE("N-11: a question comes to the owner with all that it is judged by") {
    const auto request = unpacked_request(packed_request(sample_request()));
    REQUIRE(request);
    CHECK(request->method == "POST");
    CHECK(request->path == "/api/v1/servers/1/drain");
    CHECK(request->query == "a=b");
    CHECK(request->header("authorization") == "Bearer x");
    CHECK(request->body == "{\"draining\":true}");
    CHECK(request->peer.to_string() == "10.9.8.7");
    CHECK(request->known_host);
    CHECK_FALSE(request->is_forwarded);
    CHECK(request->role == Role::viewer);  // the owner's gate judges it anew
    CHECK(request->operator_name.empty());
    CHECK(request->shown_name == "alice");  // S-2: what its certificate proved, at the node that it came to
    HttpRequest without = sample_request();
    without.shown_name.clear();
    CHECK(unpacked_request(packed_request(without))->shown_name.empty());
}

TEST_CASE("N-11: an answer comes back whole, and a live feed as a refusal") {
    HttpResponse response{404, "application/json", "{}", {{"X-Request-Id", "7"}}};
    response.held_back = std::chrono::milliseconds(1'500);
    const auto told = unpacked_response(packed_response(response));
    REQUIRE(told);
    CHECK(told->status == 404);
    CHECK(told->body == "{}");
    CHECK(told->headers.front().value == "7");
    CHECK(told->held_back == std::chrono::milliseconds(1'500));

    class Feed final : public HttpStream {
        bool next(std::string&) override { return false; }
    };
    response.stream = std::make_shared<Feed>();
    CHECK(unpacked_response(packed_response(response))->status == 503);
}

TEST_CASE("N-11: bytes that are no question or answer are none, wherever they are cut or changed") {
    const std::string request = packed_request(sample_request());
    const std::string response = packed_response({200, "text/plain", "body", {{"a", "b"}}});
    for (std::size_t size = 0; size < request.size(); ++size) CHECK_FALSE(unpacked_request(request.substr(0, size)));
    for (std::size_t size = 0; size < response.size(); ++size) CHECK_FALSE(unpacked_response(response.substr(0, size)));
    Random random(3);
    for (int round = 0; round < 20'000; ++round) {
        std::string changed = round % 2 == 0 ? request : response;
        for (int i = 0; i < 3; ++i) changed[random.below(changed.size())] = static_cast<char>(random.below(256));
        static_cast<void>(unpacked_request(changed));
        static_cast<void>(unpacked_response(changed));
    }
}
