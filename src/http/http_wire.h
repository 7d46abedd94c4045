// What an HTTP connection reads and writes: the peer's socket, with TLS around it where there is TLS.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <poll.h>

#include "tls/hello_look.h"
#include "tls/tls_context.h"
#include "tls/tls_error.h"

namespace muster {

// HTTP thread only. A stream as Asio and Beast want one; for http_connection.cpp alone, since its headers are large.
class HttpWire {
public:
    using Socket = boost::asio::ip::tcp::socket;
    using executor_type = Socket::executor_type;
    using Error = boost::system::error_code;

    // Takes over the connected socket `fd`. Throws std::bad_alloc.
    HttpWire(boost::asio::io_context& context, const boost::asio::ip::tcp& protocol, int fd,
             std::shared_ptr<const TlsServerContext> tls)
        : tls_context_(std::move(tls)), socket_(context, protocol, fd) {}

    executor_type get_executor() { return socket_.get_executor(); }
    Socket& socket() { return socket_; }
    bool has_tls() const { return tls_context_ != nullptr; }

    // Why there is no TLS with the peer, with OpenSSL's words for it, if it has any.
    struct Insecure {
        TlsFailure why = TlsFailure::incomplete;
        std::string details{};
    };
    // With TLS only: awaits the peer's hello. Calls `handler(std::optional<Insecure>)` once, also when the socket is
    // closed meanwhile; the handler keeps this wire alive. Throws std::bad_alloc.
    template <class Handler>
    void async_hello(Handler&& handler) {
        socket_.async_wait(Socket::wait_read, [this, handler = std::forward<Handler>(handler)](Error error) mutable {
            const Hello hello = error ? Hello{.ended = true} : look_for_hello();
            if (hello.ended) return handler(Insecure{});
            switch (hello.kind) {
                case HelloLook::Kind::too_few:
                    return async_hello(std::move(handler));
                case HelloLook::Kind::not_tls:
                    return handler(Insecure{TlsFailure::not_tls, "the first bytes are no TLS"});
                case HelloLook::Kind::unreasonable:
                    return handler(Insecure{TlsFailure::broken, "the first message is too long, or cut up"});
                case HelloLook::Kind::good:
                    return handler(std::optional<Insecure>());
            }
        });
    }

    // The hello is here: shakes hands. The handler as above.
    template <class Handler>
    void async_handshake(Handler&& handler) {
        SSL* link = SSL_new(&tls_context_->native());
        if (!link) throw std::bad_alloc();
        tls_.emplace(socket_, link);
        tls_->async_handshake(boost::asio::ssl::stream_base::server,
                              [this, handler = std::forward<Handler>(handler)](Error error) mutable {
                                  if (!error) return handler(std::optional<Insecure>());
                                  handler(Insecure{failure_of(error), is_of_tls(error) ? error.message() : ""});
                              });
    }
    // Whether the peer says no more: it cannot finish a handshake that has not begun.
    bool peer_has_left() {
        pollfd look{socket_.native_handle(), POLLRDHUP, 0};
        return ::poll(&look, 1, 0) == 1 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    }

    // What the peer's certificate says, once the handshake is over; nothing when it showed none.
    std::optional<CertificateFacts> certificate() {
        const X509* shown = SSL_get0_peer_certificate(tls_->native_handle());
        return shown ? std::optional(facts_of(*shown)) : std::nullopt;
    }

    // Says that nothing more follows, so that the peer can tell our end from one that somebody between made.
    template <class Handler>
    void async_tls_end(Handler&& handler) {
        tls_->async_shutdown(std::forward<Handler>(handler));
    }

    template <class Buffers, class Handler>
    void async_read_some(const Buffers& buffers, Handler&& handler) {
        if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
        socket_.async_read_some(buffers, std::forward<Handler>(handler));
    }
    template <class Buffers, class Handler>
    void async_write_some(const Buffers& buffers, Handler&& handler) {
        if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
        socket_.async_write_some(buffers, std::forward<Handler>(handler));
    }

private:
    // The peer's first message of TLS stays with the kernel until it is here whole: what a handshake needs is some 100
    // KB, and a peer that says half a hello shall not have it. To be called whenever the socket can be read; `good`
    // when the handshake can begin. `too_few`: the socket can be read again when there is more. What else it is ends
    // it, and `ended` is a peer that says no more.
    struct Hello {
        HelloLook::Kind kind = HelloLook::Kind::too_few;
        bool ended = false;
    };
    Hello look_for_hello() {
        std::array<std::byte, HelloLook::whole_max> bytes;
        const ssize_t got = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
        const auto have = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        // Woken with less than was waited for: no more comes.
        if (have < wanted_) return {HelloLook::Kind::too_few, true};
        const HelloLook look = look_at_hello(std::span(bytes).first(have));
        const bool is_whole = look.kind == HelloLook::Kind::good && have >= look.whole;
        if (look.kind != HelloLook::Kind::good && look.kind != HelloLook::Kind::too_few) {
            // Taken from the kernel, so that the peer sees an end and no reset.
            static_cast<void>(::recv(socket_.native_handle(), bytes.data(), have, MSG_DONTWAIT));
            return {look.kind};
        }
        wait_for(is_whole ? 1 : std::max(look.whole, HelloLook::size_needed));
        return {is_whole ? HelloLook::Kind::good : HelloLook::Kind::too_few};
    }

    TlsFailure failure_of(const Error& error) {
        const long verdict = SSL_get_verify_result(tls_->native_handle());
        if (is_of_tls(error) && verdict != X509_V_OK) return failure_of_verdict(verdict);
        return is_of_tls(error) ? failure_of_error(static_cast<unsigned long>(error.value()), true, false)
                                : TlsFailure::incomplete;
    }

    // The socket can be read when so many bytes are there.
    void wait_for(std::size_t bytes) {
        wanted_ = bytes;
        const int least = static_cast<int>(bytes);
        ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    }

    static bool is_of_tls(const Error& error) { return error.category() == boost::asio::error::get_ssl_category(); }

    std::shared_ptr<const TlsServerContext> tls_context_;
    Socket socket_;
    std::size_t wanted_ = 1;  // bytes, for the socket to be readable
    std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace muster
