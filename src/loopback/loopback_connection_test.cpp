#include "loopback/loopback_connection.h"

#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <unistd.h>

#include "base/no_log.h"
#include "base/virtual_clock.h"

using namespace muster;

namespace {

class Bodies final : public LoopbackHandler {
public:
    LoopbackAnswer handle(const LoopbackRequest& request) override {
        whole.push_back(request.body);
        return {};
    }
    LoopbackAnswer malformed(const LoopbackRequest&, unsigned status, const std::string&) override {
        ++refused;
        return {status};
    }

    std::vector<std::string> whole;
    int refused = 0;
};

// One connection that reads each piece before the next is sent.
struct PiecewiseLoopback {
    PiecewiseLoopback() {
        std::array<int, 2> pair{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) == 0);
        peer = pair[1];
        connection = LoopbackConnection::make(context, pair[0], true, shared, [](LoopbackConnection*) {});
        connection->serve();
        context.poll();
    }
    ~PiecewiseLoopback() {
        connection->cut();
        context.poll();
        ::close(peer);
    }
    PiecewiseLoopback(const PiecewiseLoopback&) = delete;
    PiecewiseLoopback& operator=(const PiecewiseLoopback&) = delete;

    void say(std::string_view piece) {
        if (piece.empty()) return;
        REQUIRE(::send(peer, piece.data(), piece.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(piece.size()));
        context.poll();
    }
    void end() {
        ::shutdown(peer, SHUT_WR);
        context.poll();
    }

    boost::asio::io_context context{1};
    VirtualClock clock;
    NoLog sink;
    Log log{clock, sink, LogLevel::error};
    std::shared_ptr<Bodies> bodies = std::make_shared<Bodies>();
    LoopbackLimits limits{};
    std::shared_ptr<LoopbackShared> shared{new LoopbackShared{clock, log, limits, bodies, Pace(limits.requests)}};
    std::shared_ptr<LoopbackConnection> connection;
    int peer = -1;
};

constexpr std::string_view head_of_chunked = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE("G-20: a chunked body is read in whatever pieces it comes, one that is the last chunk alone too") {
    for (const std::string_view body : {"0\r\n\r\n", "00;a=b\r\nB: c\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n"}) {
        for (std::size_t first = 0; first <= body.size(); ++first) {
            CAPTURE(body);
            CAPTURE(first);
            PiecewiseLoopback given;
            given.say(std::string(head_of_chunked) + std::string(body.substr(0, first)));
            for (const char byte : body.substr(first)) given.say({&byte, 1});
            REQUIRE(given.bodies->whole.size() == 1);
            CHECK(given.bodies->whole[0] == (body[0] == '3' ? "abc" : ""));
        }
    }
}

TEST_CASE("G-20: a chunked body whose peer ends in the middle of it is no request") {
    constexpr std::string_view body = "0\r\n\r\n";
    for (std::size_t first = 0; first < body.size(); ++first) {
        PiecewiseLoopback given;
        given.say(std::string(head_of_chunked) + std::string(body.substr(0, first)));
        given.end();
        CHECK(given.bodies->whole.empty());
    }
}
