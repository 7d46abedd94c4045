// An HTTP request and its answer as plain values: who answers requests knows nothing of sockets.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/time.h"
#include "http/role.h"

namespace muster {

struct HttpHeader {
    std::string name;
    std::string value;
};

struct HttpRequest {
    std::string method;  // "GET"
    std::string path;    // "/api/v1/servers", as it was sent
    std::string query;   // "limit=10&after=3", as it was sent
    std::vector<HttpHeader> headers;
    std::string body;
    std::vector<HttpHeader> path_values;  // what stood for {name} in the route's path
    IpAddress peer;
    bool is_forwarded = false;    // a proxy asks for somebody (forwarded_peer.h)
    Role role = Role::viewer;     // what its token allows, once the gate has judged it
    std::string operator_name{};  // who holds the token, or the certificate; empty without one
    std::string shown_name{};     // what its certificate of an operator says; empty without one
    bool known_host = false;      // the Host it names is one of ours (fault 70; host_check.h)

    // The first header of that name, in any case; empty when there is none.
    std::string_view header(std::string_view name) const;
    // The first value of that name in the query, decoded; none when it is missing or badly encoded.
    std::optional<std::string> query_value(std::string_view name) const;
    // What stood for {name} in the route's path; empty when the route has no such part.
    std::string_view path_value(std::string_view name) const;
};

// The body of an answer that goes on for as long as the peer reads it. HTTP thread only.
class HttpStream {
public:
    virtual ~HttpStream() = default;
    // Appends what there is to send now, at most about `bytes_max`; nothing when there is nothing. False ends the
    // answer.
    virtual bool next(std::string& out) = 0;
    static constexpr std::size_t bytes_max = 64 * 1024;
};

struct HttpResponse {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::string body;
    // In addition to those of every answer; one of the same name overrides it.
    std::vector<HttpHeader> headers = {};
    // Follows the header instead of `body`, until it or the connection ends.
    std::shared_ptr<HttpStream> stream = nullptr;
    // How long it waits before it leaves. Its connection makes room for others meanwhile, if need be.
    Duration held_back{0};
};

// {"error":"…"} with that status.
HttpResponse http_error(unsigned status, std::string_view text);

// Answers one request, exactly once. May be moved to another thread and kept; if it is destroyed without an answer, the
// answer is 500.
class HttpResponder {
public:
    // Takes the answer, on whatever thread it is given; must not throw. Called exactly once.
    using Deliver = std::function<void(HttpResponse&&)>;

    explicit HttpResponder(Deliver deliver);
    HttpResponder(HttpResponder&& other) noexcept;
    HttpResponder& operator=(HttpResponder&& other) noexcept;
    ~HttpResponder();

    // Once only.
    void send(HttpResponse response);

private:
    Deliver deliver_;
};

// Answers a request now or later. Called on the HTTP thread; must not wait. What it throws is logged and answered 500.
using HttpHandler = std::function<void(HttpRequest&&, HttpResponder&&)>;

}  // namespace muster
