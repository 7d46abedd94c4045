#include "http/http_connection.h"

#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <doctest/doctest.h>
#include <unistd.h>

#include "base/no_log.h"
#include "base/virtual_clock.h"

using namespace muster;

namespace {

// The thread of the connection is the test's own: nothing comes later.
class OneThread final : public HttpThread {
public:
    explicit OneThread(boost::asio::io_context& context) : context_(context) {}
    void post(std::function<void()> work) override { boost::asio::post(context_, std::move(work)); }
    void in_turn(std::function<void()> work) override { post(std::move(work)); }
    void after(Duration, std::function<void()>) override {}

private:
    boost::asio::io_context& context_;
};

// One connection that reads each piece before the next is sent.
struct Piecewise {
    Piecewise() {
        shared->thread = std::make_shared<OneThread>(*context);
        shared->handler = [this](HttpRequest&& request, HttpResponder&&) { bodies.push_back(request.body); };
        std::array<int, 2> pair{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) == 0);
        peer = pair[1];
        connection = HttpConnection::make(context, pair[0], true, shared, [this](HttpConnection*) { over = true; });
        connection->serve();
    }
    ~Piecewise() {
        connection->cut();
        turn();
        ::close(peer);
    }
    Piecewise(const Piecewise&) = delete;
    Piecewise& operator=(const Piecewise&) = delete;

    void say(std::string_view piece) {
        REQUIRE(::send(peer, piece.data(), piece.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(piece.size()));
        turn();
    }
    void end() {
        ::shutdown(peer, SHUT_WR);
        turn();
    }
    void turn() {
        while (context->poll() > 0) context->restart();
        context->restart();
    }

    std::shared_ptr<boost::asio::io_context> context = std::make_shared<boost::asio::io_context>(1);
    VirtualClock clock;
    NoLog sink;
    Log log{clock, sink, LogLevel::error};
    std::shared_ptr<HttpShared> shared{new HttpShared{HttpLimits{}, nullptr, IpAddress::v4({127, 0, 0, 1}), {}, log}};
    std::shared_ptr<HttpConnection> connection;
    int peer = -1;
    bool over = false;
    std::vector<std::string> bodies;  // of the requests that came whole
};

constexpr std::string_view chunked_head = "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE("O-2: a chunked body is read in whatever pieces it comes, one that is the last chunk alone too") {
    for (const std::string_view body : {"0\r\n\r\n", "00;a=b\r\nB: c\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n"}) {
        for (std::size_t first = 0; first <= body.size(); ++first) {
            CAPTURE(body);
            CAPTURE(first);
            Piecewise whole;
            whole.say(std::string(chunked_head) + std::string(body.substr(0, first)));
            for (const char byte : body.substr(first)) whole.say({&byte, 1});
            REQUIRE(whole.bodies.size() == 1);
            CHECK(whole.bodies[0] == (body[0] == '3' ? "abc" : ""));
        }
    }
}

TEST_CASE("O-2: a chunked body whose peer ends in the middle of it is no request") {
    constexpr std::string_view body = "0\r\n\r\n";
    for (std::size_t first = 0; first < body.size(); ++first) {
        Piecewise cut_short;
        cut_short.say(std::string(chunked_head) + std::string(body.substr(0, first)));
        cut_short.end();
        CHECK(cut_short.bodies.empty());
    }
}
