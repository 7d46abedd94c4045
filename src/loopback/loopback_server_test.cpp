#include "loopback/loopback_server.h"

#include <sys/wait.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/no_log.h"
#include "base/system_clock.h"
#include "loopback/stream_count.h"
#include "testing/http2_bytes.h"
#include "testing/kept_lines.h"
#include "testing/loopback_peer.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// Texts that a test puts in.
class Texts final : public LoopbackFeed {
public:
    void begin(std::function<void()> wake) override {
        const std::scoped_lock lock(mutex_);
        wake_ = std::move(wake);
    }
    std::optional<std::string> next() override {
        const std::scoped_lock lock(mutex_);
        if (texts_.empty()) return std::nullopt;
        std::string text = texts_.front();
        texts_.erase(texts_.begin());
        return text;
    }
    void put(std::string text) {
        std::function<void()> wake;
        {
            const std::scoped_lock lock(mutex_);
            texts_.push_back(std::move(text));
            wake = wake_;
        }
        if (wake) wake();
    }

private:
    std::mutex mutex_;
    std::vector<std::string> texts_;
    std::function<void()> wake_;
};

class Echo final : public LoopbackHandler {
public:
    LoopbackAnswer handle(const LoopbackRequest& request) override {
        ++requests;
        if (request.path == "/feed") return {200, {}, feed};
        return {200, request.method + " " + request.path + "?" + request.query + " " + request.body, nullptr};
    }
    LoopbackAnswer malformed(const LoopbackRequest&, unsigned status, const std::string&) override {
        return {status, "refused " + std::to_string(status), nullptr};
    }

    std::atomic<int> requests{0};
    std::shared_ptr<Texts> feed = std::make_shared<Texts>();
};

struct LoopbackFixture {
    SystemClock clock;
    KeptLines sink;
    Log log{clock, sink};
    LoopbackLimits limits{};
    std::shared_ptr<Echo> echo = std::make_shared<Echo>();
    LoopbackServer server{clock, log, limits};
    std::unique_ptr<LoopbackPort> port = server.open_http(0, echo);
};

// One connection of an HTTP/2 port, as whoever serves it has it.
class Http2Served {
public:
    explicit Http2Served(const LoopbackLimits& limits) : server_(clock_, log_, limits) {}
    ~Http2Served() {
        port_.reset();
        ::close(fd_);
    }
    Http2Served(const Http2Served&) = delete;
    Http2Served& operator=(const Http2Served&) = delete;

    std::unique_ptr<LoopbackPeer> connect() {
        std::promise<int> taken;
        port_ = server_.open_http2(0, [&taken](int fd) { taken.set_value(fd); });
        auto peer = std::make_unique<LoopbackPeer>(port_->number());
        fd_ = taken.get_future().get();
        return peer;
    }
    void close_port() { port_.reset(); }
    int fd() const { return fd_; }

    // What has come once it is `bytes`, or when nothing comes for `patience` or the peer has ended.
    std::string read(std::size_t bytes, std::chrono::milliseconds patience = 10s) const {
        std::string got;
        std::array<char, 65536> piece{};
        pollfd waiting{fd_, POLLIN, 0};
        while (got.size() < bytes && ::poll(&waiting, 1, static_cast<int>(patience.count())) > 0) {
            const ssize_t count = ::recv(fd_, piece.data(), piece.size(), 0);
            if (count <= 0) break;
            got.append(piece.data(), static_cast<std::size_t>(count));
        }
        return got;
    }

private:
    SystemClock clock_;
    NoLog sink_;
    Log log_{clock_, sink_};
    LoopbackServer server_;
    std::unique_ptr<LoopbackPort> port_;
    int fd_ = -1;
};

std::string streams_opened_and_reset(int count) {
    std::string bytes = http2_preface;
    for (int i = 0; i < count; ++i)
        bytes += http2_frame(1, static_cast<std::uint32_t>(2 * i + 1), "head") +
                 http2_frame(3, static_cast<std::uint32_t>(2 * i + 1), std::string(4, '\0'));
    return bytes;
}

// A peer that sends so many streams at once, at a port that takes requests at a pace.
struct SentStreams {
    SentStreams(const Pace::Limits& pace, int streams)
        : served({.requests = pace}), peer(served.connect()), bytes(streams_opened_and_reset(streams)) {
        sending = std::async(std::launch::async, [this] { peer->send(bytes); });
    }

    Http2Served served;
    std::unique_ptr<LoopbackPeer> peer;
    std::string bytes;
    std::future<void> sending;  // goes first: it ends when the peer's socket does
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: requests of one connection are answered one after another") {
    LoopbackPeer peer(port->number());
    CHECK(has(peer.ask("POST", "/a?b=c", "body"), "POST /a?b=c body"));
    CHECK(has(peer.ask("GET", "/d", ""), "GET /d? "));
    peer.forget();
    peer.send(
        "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        "POST /y HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    CHECK(has(peer.read_until("100 Continue"), "POST /x? abc"));
    peer.send("hi");
    CHECK(has(peer.read_until("POST /y? hi"), "POST /y? hi"));
}

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: garbage and what is too large are refused, and the port serves on") {
    LoopbackPeer garbage(port->number());
    garbage.send("\x16\x03\x01\x02 garbage\r\n\r\n");
    CHECK(has(garbage.read_all(), "refused 400"));
    LoopbackPeer large(port->number());
    large.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 270000\r\n\r\n");
    CHECK(has(large.read_all(), "refused 413"));
    LoopbackPeer header(port->number());
    header.send("GET /x HTTP/1.1\r\nA: " + std::string(9000, 'a'));
    CHECK(has(header.read_all(), "refused 431"));
    CHECK(echo->requests == 0);
    CHECK(has(LoopbackPeer(port->number()).ask("GET", "/ok", ""), "GET /ok"));
}

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: one port's unfinished and idle connections cost no other port anything") {
    const auto other_echo = std::make_shared<Echo>();
    const auto other = server.open_http(0, other_echo);
    std::vector<std::unique_ptr<LoopbackPeer>> flood;
    for (int i = 0; i < 100; ++i) {
        flood.push_back(std::make_unique<LoopbackPeer>(port->number()));
        if (i % 2 == 0) flood.back()->send("POST /x HTTP/1.1\r\n");
    }
    CHECK(has(LoopbackPeer(other->number()).ask("GET", "/ok", ""), "GET /ok"));
}

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: a newcomer takes the place of the connection that was idle longest") {
    LoopbackPeer first(port->number());
    CHECK(has(first.ask("GET", "/first", ""), "GET /first"));
    std::vector<std::unique_ptr<LoopbackPeer>> others;
    for (std::size_t i = 1; i < limits.connections; ++i) {
        others.push_back(std::make_unique<LoopbackPeer>(port->number()));
        CHECK(has(others.back()->ask("GET", "/other", ""), "GET /other"));
    }
    LoopbackPeer last(port->number());
    CHECK(has(last.ask("GET", "/last", ""), "GET /last"));
    first.forget();
    CHECK(first.read_all().empty());  // closed
    CHECK(has(others.back()->ask("GET", "/still", ""), "GET /still"));
}

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: a feed comes as chunked lines, and the peer's end is noticed") {
    echo->feed->put("one");
    {
        LoopbackPeer peer(port->number());
        peer.send("GET /feed HTTP/1.1\r\nHost: h\r\n\r\n");
        const std::string head = peer.read_until("one");
        CHECK(has(head, "Transfer-Encoding: chunked"));
        CHECK(has(peer.read_until("4\r\none\n\r\n"), "4\r\none\n\r\n"));
        echo->feed->put("two");
        CHECK(has(peer.read_until("4\r\ntwo\n\r\n"), "4\r\ntwo\n\r\n"));
    }
    const std::weak_ptr<Texts> gone = echo->feed;
    echo->feed = std::make_shared<Texts>();
    for (int i = 0; i < 1000 && !gone.expired(); ++i) usleep(5000);
    CHECK(gone.expired());
}

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: the same feed is a WebSocket, whatever the length of its key") {
    for (const auto& [key, accept] :
         {std::pair("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
          std::pair("short", "JQHdhQRrQ3pd0VAHx7vMGlEiL+4="),
          std::pair("a-key-that-is-much-longer-than-any-should-be-but-why-care", "yLa7o72AlINjhJnkFgoFg6+YB8Y=")}) {
        LoopbackPeer peer(port->number());
        peer.send(
            "GET /feed HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
            "13\r\n"
            "Sec-WebSocket-Key: " +
            std::string(key) + "\r\n\r\n");
        const std::string head = peer.read_until("\r\n\r\n");
        CHECK(has(head, " 101 "));
        INFO(head);
        CHECK(has(head, std::string("Sec-WebSocket-Accept: ") + accept));
        echo->feed->put("hello");
        CHECK(has(peer.read_until("hello"), "\x81\x05hello"));
        peer.send(std::string("\x89\x82\x01\x02\x03\x04\x69\x6b", 8));  // a masked ping "hi"
        CHECK(has(peer.read_until("\x8a\x02hi"), "\x8a\x02hi"));
    }
}

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: a feed's peer that never reads holds up nobody") {
    LoopbackPeer deaf(port->number());
    deaf.send("GET /feed HTTP/1.1\r\nHost: h\r\n\r\n");
    const auto feed = echo->feed;
    for (int i = 0; i < 200; ++i) feed->put(std::string(65'536, 'x'));
    CHECK(has(LoopbackPeer(port->number()).ask("GET", "/ok", ""), "GET /ok"));
}

TEST_CASE("G-20: HTTP/2 gets to whoever serves it, both ways and whole, and ends with either side") {
    Http2Served served({});
    const std::string bytes = http2_preface + http2_frame(0, 1, std::string(300'000, 'a'));
    {
        auto peer = served.connect();
        auto sending = std::async(std::launch::async, [&] { peer->send(bytes); });
        CHECK(served.read(bytes.size()) == bytes);
        sending.get();
        CHECK(::send(served.fd(), "answer", 6, MSG_NOSIGNAL) == 6);
        CHECK(has(peer->read_until("answer"), "answer"));
    }
    CHECK(served.read(1).empty());

    Http2Served other({});
    auto peer = other.connect();
    other.close_port();
    CHECK(peer->read_all().empty());
    CHECK(other.read(1).empty());
}

TEST_CASE("fault 93, G-20: HTTP/2 streams beyond the pace wait in the peer's socket") {
    SentStreams sent({.rate = 0.001, .burst = 100}, 5000);
    // The pace allows 100; the piece that exceeds it is taken whole.
    StreamCount count;
    std::size_t streams = count.take(sent.served.read(streams_opened_and_reset(100).size()));
    CHECK(streams >= 100);
    streams += count.take(sent.served.read(sent.bytes.size(), 300ms));
    CHECK(streams < 300);
    sent.served.close_port();
}

TEST_CASE("G-20: HTTP/2 streams that waited arrive when their turn comes") {
    const SentStreams sent({.rate = 5000, .burst = 10}, 1000);
    CHECK(sent.served.read(sent.bytes.size()) == sent.bytes);
}

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: a closed port is free for the next, with the same number") {
    LoopbackPeer peer(port->number());
    CHECK(has(peer.ask("GET", "/a", ""), "GET /a"));
    const std::uint16_t number = port->number();
    CHECK_THROWS_WITH_AS(server.open_http(number, echo), doctest::Contains("address in use"), LoopbackError);
    port.reset();
    peer.forget();
    CHECK(peer.read_all().empty());
    port = server.open_http(number, echo);
    CHECK(port->number() == number);
    CHECK(has(LoopbackPeer(number).ask("GET", "/b", ""), "GET /b"));
}

TEST_CASE_FIXTURE(LoopbackFixture, "G-20: a process of another user is turned away without an answer") {
    if (geteuid() != 0) return;  // only root can become another
    const std::uint16_t number = port->number();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (::setuid(65534) != 0) ::_exit(1);
        LoopbackPeer peer(number);
        ::_exit(peer.ask("POST", "/ready", "{}").empty() ? 0 : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(echo->requests == 0);
    CHECK(sink.last() ==
          fmt::format("A process of user 65534 was turned away from SDK port {}, which serves user 0 only", number));
}
