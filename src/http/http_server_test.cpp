#include "http/http_server.h"

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>

#include "base/random.h"
#include "http/http_server_fixture.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(Serving, "O-2: a request reaches the handler whole, and its answer the client") {
    TestClient client = connect();
    CHECK(body(client.ask(get("/a/b?c=d&e"))) == "GET /a/b ?c=d&e known=true type= body=");
    CHECK(body(client.ask(post("/p", "hello"))) == "POST /p ? known=true type=a/b body=hello");
    CHECK(body(client.ask("POST /c HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")) == "POST /c ? known=true type= body=abcde");
    CHECK(server->figures().requests == 3);
    CHECK(server->figures().connections == 1);
}

TEST_CASE_FIXTURE(Serving,
                  "fault 70: every answer carries the security headers, errors too, and a handler may set its own") {
    TestClient client = connect();
    for (const std::string& answer :
         {client.ask(get("/a")), client.ask(get("/throw")), client.ask("nonsense\r\n\r\n")}) {
        CHECK(contains(answer, "\r\nX-Content-Type-Options: nosniff\r\n"));
        CHECK(contains(answer, "\r\nCache-Control: no-store\r\n"));
        CHECK(contains(answer, "\r\nContent-Security-Policy: default-src 'none'"));
        CHECK(contains(answer, "\r\nX-Frame-Options: DENY\r\n"));
        CHECK(contains(answer, "\r\nReferrer-Policy: no-referrer\r\n"));
    }
    const std::string own = connect().ask(get("/headers"));
    CHECK(contains(own, "\r\nCache-Control: max-age=5\r\n"));
    CHECK_FALSE(contains(own, "no-store"));
    CHECK(contains(own, "\r\nX-Own: 1\r\n"));
}

TEST_CASE_FIXTURE(Serving, "a connection serves many requests, pipelined ones in order, until one side ends it") {
    TestClient client = connect();
    for (int i = 0; i < 50; ++i) CHECK(status(client.ask(get("/a"))) == 200);
    client.send(get("/1") + get("/2") + post("/3", "x") + get("/4"));
    for (const char* path : {"/1 ", "/2 ", "/3 ", "/4 "}) CHECK(contains(body(client.answer()), path));
    CHECK(status(client.ask("GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) == 200);
    CHECK(client.ended());

    TestClient old = connect();
    CHECK(contains(body(old.ask("GET /old HTTP/1.0\r\n\r\n")), "known=true"));
    CHECK(old.ended());
}

TEST_CASE_FIXTURE(Serving, "HEAD has the header of GET and no body") {
    TestClient client = connect();
    client.send("HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/b"));
    const std::string head = client.answer(true);
    CHECK(status(head) == 200);
    CHECK(contains(head, "Content-Length: 32\r\n"));
    CHECK(body(head).empty());
    CHECK(contains(body(client.answer()), "GET /b"));
}

TEST_CASE_FIXTURE(Serving, "one byte at a time is the same request") {
    TestClient client = connect();
    for (const char c : post("/slow", "abc")) client.send({&c, 1});
    CHECK(body(client.answer()) == "POST /slow ? known=true type=a/b body=abc");
}

TEST_CASE_FIXTURE(Serving, "fault 70: the handler learns whether the Host is ours") {
    const auto known = [this](std::string_view host) {
        return contains(connect().ask(fmt::format("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", host)), "known=true");
    };
    CHECK(known("localhost"));
    CHECK(known(fmt::format("127.0.0.1:{}", server->port())));
    CHECK_FALSE(known("evil.example"));
    CHECK(known("127.0.0.2"));
    CHECK_FALSE(known(""));
    CHECK(status(connect().ask("GET / HTTP/1.1\r\n\r\n")) == 400);
    CHECK(status(connect().ask("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")) == 400);
}

TEST_CASE_FIXTURE(Serving, "O-2: what is no request is answered 400 in JSON and closed, and others go on") {
    TestClient other = connect();
    CHECK(status(other.ask(get("/a"))) == 200);
    for (const char* bad :
         {"nonsense\r\n\r\n", "GET\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /a HTTP/9.9\r\n\r\n",
          "GET /a HTTP/1.1\r\nHost localhost\r\n\r\n",
          "GET /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
          "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
          "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
          "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
          "GET http://x/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "\x16\x03\x01\x02\r\n\r\n"}) {
        TestClient client = connect();
        const std::string answer = client.ask(bad);
        CHECK_MESSAGE(status(answer) == 400, bad);
        CHECK_MESSAGE(contains(body(answer), "{\"error\":\""), bad);
        CHECK_MESSAGE(client.ended(), bad);
    }
    CHECK(status(other.ask(get("/a"))) == 200);
    CHECK(server->figures().refused_requests == 12);
}

TEST_CASE_FIXTURE(Serving, "O-2: no Transfer-Encoding but chunked is taken, and what follows another is not read") {
    const auto ask = [](TestClient& client, std::string_view headers) {
        return client.ask(fmt::format("POST /a HTTP/1.1\r\nHost: localhost\r\n{}\r\n2\r\n{{}}\r\n0\r\n\r\n{}", headers,
                                      get("/smuggled")));
    };
    for (const char* coding : {"xchunked", "gzip", "identity", "\"chunked\"", "chunked, identity", "gzip, chunked",
                               "chunked;q=1", "chunked, chunked", ",chunked"}) {
        TestClient client = connect();
        const std::string answer = ask(client, fmt::format("Transfer-Encoding: {}\r\n", coding));
        CHECK_MESSAGE(status(answer) == 501, coding);
        CHECK_MESSAGE(contains(body(answer), "No Transfer-Encoding but chunked"), coding);
        CHECK_MESSAGE(client.ended(), coding);
    }
    for (const char* both :
         {"Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n",
          "Content-Length: 2\r\nTransfer-Encoding: identity\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
        TestClient client = connect();
        CHECK_MESSAGE(status(ask(client, both)) == 400, both);
        CHECK_MESSAGE(client.ended(), both);
    }
    CHECK(server->figures().requests == 0);
    for (const char* coding : {"chunked", "Chunked", " chunked\t", "CHUNKED"}) {
        TestClient client = connect();
        CHECK_MESSAGE(contains(body(ask(client, fmt::format("Transfer-Encoding:{}\r\n", coding))), "body={}"), coding);
        CHECK_MESSAGE(contains(body(client.answer()), "GET /smuggled"), coding);
    }
    TestClient old = connect();
    CHECK(status(old.ask("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")) == 400);
    CHECK(old.ended());
}

TEST_CASE_FIXTURE(Serving, "S-5: a request with two Authorization or two Host headers is 400, whichever comes first") {
    for (const char* twice : {"Host: localhost\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n",
                              "Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer a\r\n",
                              "Host: localhost\r\nHost: localhost\r\n"}) {
        TestClient client = connect();
        CHECK_MESSAGE(status(client.ask(fmt::format("GET /a HTTP/1.1\r\n{}\r\n", twice))) == 400, twice);
        CHECK_MESSAGE(client.ended(), twice);
    }
    CHECK(server->figures().requests == 0);
}

TEST_CASE_FIXTURE(Serving, "O-2: random bytes, and good requests with random damage, never do more than be refused") {
    Random random(70);
    const std::string good = post("/a?b=c", "hello") + get("/d");
    for (int round = 0; round < 200; ++round) {
        std::string bytes = good;
        if (round % 2 == 0) {
            bytes.resize(1 + random.below(300));
            for (char& c : bytes) c = static_cast<char>(random.below(256));
        } else {
            for (std::uint64_t damage = 1 + random.below(4); damage > 0; --damage)
                bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        }
        connect().send(bytes);
    }
    CHECK(status(connect().ask(get("/a"))) == 200);
    CHECK(soon([this] { return server->figures().connections == 0; }));
}

TEST_CASE_FIXTURE(Serving,
                  "O-2: a header over 16 KiB is 431, a body over 64 KiB is 413, the largest that fit are served") {
    const auto with_header = [](std::size_t total) {
        const std::string start = "GET /a HTTP/1.1\r\nHost: localhost\r\nX: ";
        return start + std::string(total - start.size() - 4, 'x') + "\r\n\r\n";
    };
    CHECK(status(connect().ask(with_header(16 * 1024))) == 200);
    CHECK(status(connect().ask(with_header(16 * 1024 + 1))) == 431);
    CHECK(status(connect().ask(with_header(1'000'000))) == 431);
    CHECK(status(connect().ask("GET /" + std::string(100'000, 'x'))) == 431);

    CHECK(status(connect().ask(post("/a", std::string(64 * 1024, 'x')))) == 200);
    CHECK(status(connect().ask(post("/a", std::string(64 * 1024 + 1, 'x')))) == 413);
    CHECK(status(connect().ask("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")) == 413);
    const std::string chunk = "8000\r\n" + std::string(0x8000, 'x') + "\r\n";
    CHECK(status(connect().ask("POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk +
                               chunk + chunk)) == 413);
}

TEST_CASE_FIXTURE(Serving, "a peer that asks first is told to go on with its body") {
    TestClient client = connect();
    client.send("POST /a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    CHECK(client.answer() == "HTTP/1.1 100 Continue\r\n\r\n");
    CHECK(contains(body(client.ask("ok")), "body=ok"));
}

TEST_CASE_FIXTURE(Serving,
                  "fault 13: a handler that throws, or drops its request, is answered 500, and serving goes on") {
    TestClient client = connect();
    CHECK(status(client.ask(get("/throw"))) == 500);
    CHECK(status(client.ask(get("/drop"))) == 500);
    CHECK(status(client.ask(get("/a"))) == 200);
}

TEST_CASE_FIXTURE(Serving, "O-2: an answer may come later from another thread, meanwhile others are served") {
    TestClient client = connect();
    client.send(get("/later") + get("/next"));
    HttpResponder responder = wait_for_later();
    CHECK(status(connect().ask(get("/a"))) == 200);
    std::thread([&] { responder.send({200, "text/plain", "at last", {}}); }).join();
    CHECK(body(client.answer()) == "at last");
    CHECK(contains(body(client.answer()), "/next"));
}

TEST_CASE_FIXTURE(Serving, "an answer for a client that has left, or a server that has stopped, goes nowhere") {
    std::optional<TestClient> client(connect());
    client->send(get("/later"));
    HttpResponder first = wait_for_later();
    client.reset();
    first.send({});
    CHECK(status(connect().ask(get("/a"))) == 200);

    TestClient second = connect();
    second.send(get("/later"));
    HttpResponder too_late = wait_for_later();
    server.reset();
    CHECK(second.ended());
    too_late.send({});
}

TEST_CASE("fault 23: a request that drips is answered 408 at its deadline, in its header and in its body") {
    HttpLimits limits;
    limits.header_deadline = limits.body_deadline = 500ms;
    const Serving serving(limits);
    TestClient in_header = serving.connect();
    CHECK(status(in_header.ask("GET /a HT")) == 408);
    CHECK(in_header.ended());
    TestClient in_body = serving.connect();
    CHECK(status(in_body.ask("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab")) == 408);
    CHECK(in_body.ended());
    // One that says nothing is not told anything either.
    CHECK(serving.connect().ended());
}

TEST_CASE("a connection that rests is closed after its idle time, and not before") {
    HttpLimits limits;
    limits.header_deadline = 500ms;
    limits.keep_alive_idle = 1h;
    {
        const Serving serving(limits);
        TestClient client = serving.connect();
        CHECK(status(client.ask(get("/a"))) == 200);
        std::this_thread::sleep_for(700ms);  // longer than a header may take
        CHECK(status(client.ask(get("/a"))) == 200);
    }
    limits.keep_alive_idle = 200ms;
    const Serving serving(limits);
    const auto start = std::chrono::steady_clock::now();
    TestClient client = serving.connect();
    CHECK(status(client.ask(get("/a"))) == 200);
    CHECK(client.ended());
    CHECK(std::chrono::steady_clock::now() - start >= 200ms);
}

TEST_CASE("an answer that does not come in time is a 503, and the late one changes nothing") {
    HttpLimits limits;
    limits.answer_deadline = 50ms;
    Serving serving(limits);
    TestClient client = serving.connect();
    CHECK(status(client.ask(get("/later"))) == 503);
    serving.wait_for_later().send({});
    CHECK(client.ended());
    CHECK(status(serving.connect().ask(get("/a"))) == 200);
}

TEST_CASE_FIXTURE(Serving,
                  "fault 9: without descriptors accepting backs off, those connected are served, and it recovers") {
    TestClient before = connect();
    CHECK(status(before.ask(get("/a"))) == 200);
    // Leaves exactly one descriptor, for the client that then waits to be accepted.
    rlimit usual{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
    const rlimit tight{256, usual.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    std::vector<int> taken;
    for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
    ::close(taken.back());
    taken.pop_back();

    const auto start = std::chrono::steady_clock::now();
    TestClient waiting = connect();
    waiting.send(get("/waited"));
    CHECK(soon([this] { return server->figures().accept_errors >= 2; }));
    CHECK(status(before.ask(get("/a"))) == 200);
    const std::uint64_t tries = server->figures().accept_errors;
    const auto tries_max = (std::chrono::steady_clock::now() - start) / 100ms + 1;
    CHECK(tries <= static_cast<std::uint64_t>(tries_max));

    for (const int fd : taken) ::close(fd);
    CHECK(contains(waiting.answer(), "/waited"));
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
}

TEST_CASE_FIXTURE(Serving, "fault 7: a port in use says which, and the first server is untouched") {
    const HttpListen same{*IpAddress::parse("127.0.0.1"), server->port()};
    const std::string expected = fmt::format("cannot listen on 127.0.0.1:{} (http): address in use", server->port());
    CHECK_THROWS_WITH_AS(HttpServer(same, HttpLimits{}, log), expected.c_str(), HttpListenError);
    const HttpListen foreign{*IpAddress::parse("192.0.2.1"), 0};
    CHECK_THROWS_WITH_AS(HttpServer(foreign, HttpLimits{}, log),
                         doctest::Contains("cannot listen on 192.0.2.1:0 (http): "), HttpListenError);
    CHECK(status(connect().ask(get("/a"))) == 200);
    CHECK(server->address() == fmt::format("127.0.0.1:{}", server->port()));
}

TEST_CASE_FIXTURE(Serving, "N-11: who comes between two servers of one port waits for the second") {
    const int kept = server->kept_socket();
    REQUIRE(kept >= 0);
    const std::uint16_t port = server->port();
    server.reset();
    TestClient between(port, 1);
    between.send(get("/between"));
    const Serving next(HttpLimits{}, {*IpAddress::parse("127.0.0.1"), port, {}, {}, nullptr, kept});
    CHECK(next.server->port() == port);
    CHECK(contains(between.answer(), "/between"));
    ::close(kept);
    CHECK(status(next.connect().ask(get("/a"))) == 200);
}

TEST_CASE_FIXTURE(Serving, "stopping lets an answer under way out, and ends resting connections at once") {
    TestClient resting = connect();
    CHECK(status(resting.ask(get("/a"))) == 200);
    TestClient busy = connect();
    busy.send(get("/later"));
    HttpResponder responder = wait_for_later();
    std::thread stopping([this] { server.reset(); });
    CHECK(resting.ended());
    responder.send({200, "text/plain", "still here", {}});
    CHECK(body(busy.answer()) == "still here");
    CHECK(busy.ended());
    stopping.join();
}

TEST_CASE_FIXTURE(Serving, "an answer can go on as a stream, until it ends") {
    TestClient client = connect();
    client.send(get("/count"));
    const std::string head = client.answer();
    CHECK(status(head) == 200);
    CHECK(contains(head, "Connection: close"));
    CHECK_FALSE(contains(head, "Content-Length"));
    CHECK(client.rest() == "1 2 3 ");
    CHECK(soon([this] { return streams == 0; }));
    CHECK(status(connect().ask("HEAD /count HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) == 200);
}

TEST_CASE_FIXTURE(Serving, "a stream's end is seen when its reader leaves, and when the server stops") {
    {
        TestClient client = connect();
        client.send(get("/endless"));
        CHECK(status(client.answer()) == 200);
        CHECK(soon([this] { return streams == 1; }));
    }
    CHECK(soon([this] { return streams == 0; }));
    TestClient stays = connect();
    stays.send(get("/endless"));
    CHECK(status(stays.answer()) == 200);
    server.reset();
    CHECK(streams == 0);
}

TEST_CASE("a reader that takes too long for a piece of its stream is cut") {
    HttpLimits limits;
    limits.write_deadline = 100ms;
    Serving serving(limits);
    TestClient client = serving.connect();
    client.send(get("/endless"));
    CHECK(status(client.answer()) == 200);              // the beginning of it
    CHECK(soon([&] { return serving.streams == 0; }));  // though nobody reads on or closes
}

TEST_CASE_FIXTURE(Serving, "work is done on the HTTP thread, at once or later, and not after the server's end") {
    std::atomic<int> done{0};
    const auto thread = server->thread();
    thread->post([&] {
        ++done;
        thread->after(1ms, [&] { ++done; });
    });
    CHECK(soon([&] { return done == 2; }));
    server.reset();
    thread->post([&] { ++done; });
    CHECK(done == 2);
}

TEST_CASE_FIXTURE(Serving, "many clients at once are all answered") {
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                TestClient client = connect();
                const std::string path = fmt::format("/{}/{}", t, i);
                if (contains(client.ask(get(path)), path + " ")) good.fetch_add(1);
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(good == 400);
    CHECK(soon([this] { return server->figures().connections == 0; }));
}
