// The library peer of bare_epoll.cpp: the same bytes by Boost.Asio callbacks, one thread, reading all there is into one
// buffer a link. For the decision record on raw epoll.
//
// Prints "PORT n" and serves until it is killed.
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t heartbeat_bytes = 20;
constexpr std::size_t ack_bytes = 13;

std::int64_t unix_ms() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

class Link : public std::enable_shared_from_this<Link> {
public:
    explicit Link(tcp::socket socket) : socket_(std::move(socket)) { socket_.set_option(tcp::no_delay(true)); }

    void read() {
        socket_.async_read_some(boost::asio::buffer(in_), [self = shared_from_this()](error_code error, std::size_t n) {
            if (!error) self->answer(n / heartbeat_bytes);
        });
    }

private:
    void answer(std::size_t requests) {
        constexpr std::array<std::uint8_t, 5> head{11, 0, 0x03, 0x10, 1};
        const std::int64_t time_ms = unix_ms();
        for (std::size_t n = 0; n < requests; ++n) {
            std::memcpy(out_.data() + n * ack_bytes, head.data(), head.size());
            std::memcpy(out_.data() + n * ack_bytes + head.size(), &time_ms, sizeof time_ms);
        }
        boost::asio::async_write(socket_, boost::asio::buffer(out_.data(), requests * ack_bytes),
                                 [self = shared_from_this()](error_code error, std::size_t) {
                                     if (!error) self->read();
                                 });
    }

    tcp::socket socket_;
    std::array<std::byte, 4096> in_{};
    std::array<std::byte, 4096> out_{};
};

void accept_next(tcp::acceptor& acceptor) {
    acceptor.async_accept([&acceptor](error_code error, tcp::socket socket) {
        if (!error) std::make_shared<Link>(std::move(socket))->read();
        accept_next(acceptor);
    });
}

}  // namespace

int main() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    boost::asio::io_context context(1);
    tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
    acceptor.listen(4096);
    std::printf("PORT %d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    accept_next(acceptor);
    context.run();
}
