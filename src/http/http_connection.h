// One connection of the HTTP server: reads a request, waits for its answer, writes it, and so on until it ends.
// An answer may also go on as a stream. Only the server uses it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/ip_address.h"
#include "base/log.h"
#include "http/http_handshakes.h"
#include "http/http_message.h"
#include "http/http_server.h"

namespace boost::asio {
class io_context;
}

namespace muster {

// What all connections of a server share.
struct HttpShared {
    HttpLimits limits;
    HttpHandler handler;
    IpAddress listening;
    std::vector<std::string> hosts;  // further ones that requests may name
    Log& log;
    std::shared_ptr<HttpThread> thread{};
    HttpHandshakes handshakes{thread};
    bool under_pressure = false;  // HTTP thread only: see HttpQuota
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> refused_requests{0};
    std::shared_ptr<const TlsServerContext> tls{};  // HTTP thread only: for connections that are new; null: plain HTTP
    const Clock* clock = nullptr;                   // not null with TLS
    std::array<std::atomic<std::uint64_t>, tls_failures.size()> tls_failed{};  // by TlsFailure
    std::atomic<std::uint64_t> tls_handshakes{0};
};

// HTTP thread only, but for the answer, which may come from any.
class HttpConnection {
public:
    virtual ~HttpConnection() = default;

    // Takes over the connected socket `fd`. `on_end` is called once, when the connection is over.
    static std::shared_ptr<HttpConnection> make(const std::shared_ptr<boost::asio::io_context>& context, int fd,
                                                bool is_v4, std::shared_ptr<HttpShared> shared,
                                                std::function<void(HttpConnection*)> on_end);

    virtual IpAddress peer() const = 0;

    // Serves its requests.
    virtual void serve() = 0;
    // Serves one request, and only when it asks for a probe of health.h; others are answered 503.
    virtual void serve_probe() = 0;
    // Answers 503 to whatever comes, and ends.
    virtual void turn_away() = 0;
    // Takes no further request. A request that was read is still answered.
    virtual void finish() = 0;
    // Ends at once.
    virtual void cut() = 0;

    // With TLS: whether the handshake is not over yet.
    virtual bool is_unproven() const = 0;
    // The peer's hello is here, and it is its address's turn: shakes hands. False when there is nothing to be done.
    virtual bool begin_handshake() = 0;

    // For how long it has been the peer's turn; none when it is ours, or when it streams. `resting`: between requests,
    // or with an answer that is held back.
    struct Waiting {
        Duration time{0};
        bool resting = false;
    };
    virtual std::optional<Waiting> waiting() const = 0;
};

}  // namespace muster
