// What a process of this machine asks over HTTP, and what it is answered: plain values, no sockets.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace muster {

struct LoopbackRequest {
    std::string method;  // "GET"
    std::string path;    // as it was sent
    std::string query;   // as it was sent
    std::string body;
};

// The body of an answer that goes on: one text after another, as lines of a chunked answer or as messages of a
// WebSocket. Whoever makes it bounds what waits in it.
class LoopbackFeed {
public:
    virtual ~LoopbackFeed() = default;
    // Called once, before next(). `wake` may be called on any thread and at any time, also when the peer is gone.
    virtual void begin(std::function<void()> wake) = 0;
    // Loopback thread. None when there is nothing to send now.
    virtual std::optional<std::string> next() = 0;
};

struct LoopbackAnswer {
    unsigned status = 200;
    std::string body{};  // JSON
    std::shared_ptr<LoopbackFeed> feed = nullptr;
};

// Answers the requests of one port.
class LoopbackHandler {
public:
    virtual ~LoopbackHandler() = default;
    // Loopback thread; must not wait.
    virtual LoopbackAnswer handle(const LoopbackRequest& request) = 0;
    // The answer to what is no HTTP, or too large; `status` says how. Of the request only what was understood is there,
    // and never its body.
    virtual LoopbackAnswer malformed(const LoopbackRequest& request, unsigned status, const std::string& why) = 0;
};

}  // namespace muster
