// How many connections HTTP takes, and who makes room when there are more.
#include <chrono>
#include <latch>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "http/http_server_fixture.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

TEST_CASE("fault 27: connections over the limit are told so and closed, those within it are served") {
    HttpLimits limits;
    limits.quota.connections = 2;
    Serving serving(limits);
    std::optional<TestClient> first(serving.connect());
    TestClient second = serving.connect();
    for (TestClient* client : {&*first, &second}) {
        client->send(get("/endless"));
        CHECK(status(client->answer()) == 200);
    }
    TestClient third = serving.connect();
    CHECK(status(third.ask(get("/a"))) == 503);
    CHECK(third.ended());
    CHECK(serving.server->figures().refused_per_port == 1);

    first.reset();
    CHECK(soon([&] { return status(serving.connect().ask(get("/a"))) == 200; }));
}

TEST_CASE("fault 33: one address has room up to its own limit, and the others have theirs") {
    HttpLimits limits;
    limits.quota.connections_ip = 2;
    Serving serving(limits);
    const auto streaming = [&](std::uint8_t host) {
        TestClient client = serving.connect(host);
        client.send(get("/endless"));
        return client;
    };
    TestClient first = streaming(2);
    TestClient second = streaming(2);
    CHECK(status(first.answer()) == 200);
    CHECK(status(second.answer()) == 200);
    CHECK(status(serving.connect(2).ask(get("/a"))) == 503);
    CHECK(serving.server->figures().refused_per_ip == 1);
    CHECK(status(serving.connect(3).ask(get("/a"))) == 200);
    serving.server->set_quota({1024, 3});
    CHECK(soon([&] { return status(serving.connect(2).ask(get("/a"))) == 200; }));
}

TEST_CASE("fault 33: at a limit a resting connection makes room at once, the one that rests longest first") {
    HttpLimits limits;
    limits.quota.connections_ip = 2;
    const Serving serving(limits);
    TestClient other = serving.connect(9);
    TestClient first = serving.connect();
    TestClient second = serving.connect();
    for (TestClient* client : {&other, &first, &second}) CHECK(status(client->ask(get("/a"))) == 200);
    TestClient third = serving.connect();
    CHECK(status(third.ask(get("/a"))) == 200);
    CHECK(first.ended());
    CHECK(status(second.ask(get("/a"))) == 200);
    CHECK(status(other.ask(get("/a"))) == 200);
    CHECK(serving.server->figures().let_go == 1);
    CHECK(serving.server->figures().refused_per_ip == 0);
}

TEST_CASE("fault 33: at a limit a request that drips makes room, one that has just begun does not") {
    HttpLimits limits;
    limits.quota.connections = 2;
    limits.patience = 300ms;
    const Serving serving(limits);
    TestClient in_head = serving.connect(2);
    in_head.send("GET /a HT");
    TestClient in_body = serving.connect(3);
    in_body.send("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab");
    CHECK(soon([&] { return serving.server->figures().connections == 2; }));
    CHECK(soon([&] { return status(serving.connect(4).ask(get("/a"))) == 200; }));
    CHECK(serving.server->figures().let_go >= 1);
    CHECK(in_head.ended());
}

TEST_CASE("S-7: with no room left, health is still answered on loopback, however many ask so") {
    HttpLimits limits;
    limits.quota.connections = 1;
    Serving serving(limits);
    TestClient streaming = serving.connect(2);
    streaming.send(get("/endless"));
    CHECK(status(streaming.answer()) == 200);
    std::vector<TestClient> silent;
    for (int i = 0; i < 100; ++i) silent.push_back(serving.connect(3));
    for (const char* probe : {"/healthz", "/readyz"}) {
        TestClient client = serving.connect();
        CHECK(status(client.ask(get(probe))) == 200);
        CHECK(client.ended());
    }
    CHECK(status(serving.connect().ask(get("/a"))) == 503);
    CHECK(silent.front().ended());
}

TEST_CASE("S-7: while over half of all connections are taken, resting ones are closed sooner") {
    HttpLimits limits;
    limits.quota.connections = 2;
    limits.keep_alive_pressed = 200ms;
    Serving serving(limits);
    TestClient pressing = serving.connect();
    pressing.send(get("/endless"));
    CHECK(status(pressing.answer()) == 200);
    TestClient resting = serving.connect();
    const auto start = std::chrono::steady_clock::now();
    CHECK(status(resting.ask(get("/a"))) == 200);
    CHECK(resting.ended());
    CHECK(std::chrono::steady_clock::now() - start >= 200ms);
}

TEST_CASE_FIXTURE(Serving, "fault 33: a probe waits for none of the requests that others have sent before it") {
    constexpr int clients = 30;
    std::vector<TestClient> busy;
    for (int i = 0; i < clients; ++i) busy.push_back(connect());
    TestClient prober = connect();
    for (TestClient& client : busy) CHECK(status(client.ask(get("/a"))) == 200);
    CHECK(status(prober.ask(get("/a"))) == 200);

    // The thread finds all of it at once, the probe last.
    std::latch all_sent(1);
    server->thread()->post([&all_sent] { all_sent.wait(); });
    for (const TestClient& client : busy) client.send(get("/task") + get("/task") + get("/task"));
    prober.send(get("/healthz"));
    all_sent.count_down();
    CHECK(status(prober.answer()) == 200);
    CHECK(worked_before_probe <= 3);
    for (TestClient& client : busy)
        for (int i = 0; i < 3; ++i) CHECK(status(client.answer()) == 200);
    CHECK(worked == 3 * clients);
}
