// What an HTTP connection reads and writes: the peer's socket, with TLS around it where there is TLS.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>

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
        : tls_context_(std::move(tls)), socket_(context, protocol, fd) {
        if (!tls_context_) return;
        SSL* link = SSL_new(&tls_context_->native());
        if (!link) throw std::bad_alloc();
        tls_.emplace(socket_, link);
    }

    executor_type get_executor() { return socket_.get_executor(); }
    Socket& socket() { return socket_; }
    bool has_tls() const { return tls_.has_value(); }

    template <class Handler>
    void async_handshake(Handler&& handler) {
        tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(handler));
    }
    // Why a handshake failed, and OpenSSL's words for it.
    static TlsFailure failure_of(const Error& error) {
        return is_of_tls(error) ? failure_of_error(static_cast<unsigned long>(error.value()), true, false)
                                : TlsFailure::incomplete;
    }
    static std::string words_of(const Error& error) { return is_of_tls(error) ? error.message() : std::string(); }

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
    static bool is_of_tls(const Error& error) { return error.category() == boost::asio::error::get_ssl_category(); }

    std::shared_ptr<const TlsServerContext> tls_context_;
    Socket socket_;
    std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace muster
