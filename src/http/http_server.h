// A small HTTP/1.1 server on a thread of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "base/log.h"
#include "base/time.h"
#include "http/http_message.h"
#include "http/http_quota.h"
#include "tls/tls_context.h"
#include "tls/tls_failure.h"

namespace muster {

struct HttpLimits {
    HttpQuota::Limits quota;
    std::size_t header_bytes = 16 * 1024;
    std::size_t body_bytes = 64 * 1024;
    Duration header_deadline = std::chrono::seconds(10);  // from the connection, or the first byte of a later request
    Duration body_deadline = std::chrono::seconds(10);
    Duration answer_deadline = std::chrono::seconds(40);  // longer than any allocation takes
    Duration write_deadline = std::chrono::seconds(10);
    Duration keep_alive_idle = std::chrono::seconds(60);
    Duration keep_alive_pressed = std::chrono::seconds(5);  // the same while over half of all connections are taken
    Duration patience = std::chrono::seconds(1);  // at a limit, a peer that pauses longer in mid request is closed
    Duration stream_look = std::chrono::milliseconds(50);  // how often a stream with nothing to send is asked again
    Duration stop_grace = std::chrono::seconds(1);         // for answers under way when the server stops
};

struct HttpListen {
    IpAddress host;
    std::uint16_t port = 0;            // 0 takes any free one
    std::vector<std::string> hosts{};  // names in lower case that requests may call us by, besides localhost
    std::shared_ptr<const TlsServerContext> tls{};  // null: plain HTTP
    const Clock* clock = nullptr;                   // says whose certificate has expired; needed with TLS, outlives it
    int socket = -1;  // one that listens there already, of an earlier server; -1: there is none
};

// The port cannot be opened: "cannot listen on 127.0.0.1:11030 (http): address in use".
class HttpListenError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Totals since the start; `connections` is the present number.
struct HttpFigures {
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;             // that reached the handler
    std::uint64_t refused_requests = 0;     // malformed, too large or too slow
    std::uint64_t refused_per_ip = 0;       // connections over the limit of their address
    std::uint64_t refused_per_port = 0;     // connections over the limit of all
    std::uint64_t refused_accept_rate = 0;  // TLS connections of an address that came too often
    std::uint64_t let_go = 0;               // connections that waited for their peer, or had proved nothing, and made
                                            // room for another
    std::uint64_t accept_errors = 0;
    std::array<std::uint64_t, tls_failures.size()> tls_failed{};  // by TlsFailure
    std::uint64_t tls_handshakes = 0;                             // that were finished
};

// Runs work on the HTTP thread. May outlive the server: then the work is dropped.
class HttpThread {
public:
    virtual ~HttpThread() = default;
    // Any thread.
    virtual void post(std::function<void()> work) = 0;
    // HTTP thread only, or before it runs.
    virtual void after(Duration delay, std::function<void()> work) = 0;
    // HTTP thread only: later, in the order of the calls, one each time the thread has looked at all its sockets. For
    // work that many peers may cause at once, so that it holds up nobody else.
    virtual void in_turn(std::function<void()> work) = 0;
};

// Reads requests, hands them to the handler, writes what it answers. What is malformed, too large or too slow never
// reaches the handler; it is answered {"error":"…"} with its status, and its connection is closed.
//
// One address cannot shut out others. At the limit of an address, the server closes that address's connection
// that has waited longest for its peer; at the limit of all, any such connection. If none waits, the newcomer gets 503.
// With TLS, at the limit of all, those that have not finished their handshake give way first: see HttpAdmission. A few
// connections are reserved for loopback, for the probes of health.h.
class HttpServer {
public:
    // Opens the port; throws HttpListenError. Peers wait until serve(). The log outlives the server.
    HttpServer(const HttpListen& listen, const HttpLimits& limits, Log& log);
    // Serves from now on. Once only.
    void serve(HttpHandler handler);
    // Stops taking requests, gives answers under way their grace, and ends the thread. Answers given later go nowhere.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Where it listens, with the port it was given: "127.0.0.1:11030".
    std::string address() const;
    std::uint16_t port() const;
    // A copy of the listening socket, the caller's to close: while it is open, peers that come after the server has
    // ended wait for the next one. -1: the machine has no file for it.
    int kept_socket() const;

    // Any thread. Holds for connections from now on.
    void set_quota(const HttpQuota::Limits& limits);
    // Any thread. For connections from now on, and only where there was TLS from the start.
    void set_tls(std::shared_ptr<const TlsServerContext> context);
    HttpFigures figures() const;
    std::shared_ptr<HttpThread> thread() const;

private:
    class Acceptor;
    std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace muster
