// A server of its own for each test, and what a test asks of it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/log.h"
#include "base/no_log.h"
#include "base/system_clock.h"
#include "http/health.h"
#include "http/http_server.h"
#include "http/test_client.h"
#include "testing/soon.h"

namespace muster::testing {

using namespace std::chrono_literals;

// Gives "1 2 3 … " piece by piece, one at each look, up to `last`.
class Counting final : public HttpStream {
public:
    Counting(int last, std::atomic<int>& alive) : last_(last), alive_(alive) { ++alive_; }
    ~Counting() override { --alive_; }
    bool next(std::string& out) override {
        if (rest_) return rest_ = false, true;
        if (said_ == last_) return false;
        rest_ = true;
        out += fmt::format("{} ", ++said_);
        return true;
    }

private:
    const int last_;
    std::atomic<int>& alive_;
    int said_ = 0;
    bool rest_ = false;
};

// Never has nothing to say.
class Endless final : public HttpStream {
public:
    explicit Endless(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
    ~Endless() override { --alive_; }
    bool next(std::string& out) override {
        out.assign(bytes_max, 'x');
        return true;
    }

private:
    std::atomic<int>& alive_;
};

// A server that tells what it was asked; some paths behave otherwise.
class Serving {
public:
    Serving() : Serving(HttpLimits{}) {}
    explicit Serving(const HttpLimits& limits) : Serving(limits, {*IpAddress::parse("127.0.0.1"), 0}) {}
    Serving(const HttpLimits& limits, const HttpListen& listen) {
        server.emplace(listen, limits, log);
        server->serve([this](HttpRequest&& request, HttpResponder&& responder) {
            answer(std::move(request), std::move(responder));
        });
    }
    ~Serving() { server.reset(); }

    // From 127.0.0.`host`.
    TestClient connect(std::uint8_t host = 1) const { return TestClient(server->port(), host); }

    // The responder of the request to /later.
    HttpResponder wait_for_later() {
        std::unique_lock lock(mutex);
        REQUIRE(arrived.wait_for(lock, 10s, [this] { return later.has_value(); }));
        HttpResponder responder = std::move(*later);
        later.reset();
        return responder;
    }

    SystemClock clock;
    NoLog sink;
    Log log{clock, sink};
    std::mutex mutex;
    std::condition_variable arrived;
    std::optional<HttpResponder> later;  // guarded by mutex
    std::atomic<int> streams{0};
    std::atomic<int> worked{0};               // requests to /task
    std::atomic<int> worked_before_probe{0};  // of these, before the latest probe
    std::optional<HttpServer> server;

private:
    void answer(HttpRequest&& request, HttpResponder&& responder) {
        if (request.path == "/throw") throw std::runtime_error("on purpose");
        if (request.path == "/drop") return;
        if (request.path == "/later") {
            const std::lock_guard lock(mutex);
            later = std::move(responder);
            arrived.notify_all();
            return;
        }
        if (request.path == "/task") ++worked;
        if (is_probe(request.path)) worked_before_probe = worked.load();
        HttpResponse response;
        if (request.path == "/count") response.stream = std::make_shared<Counting>(3, streams);
        if (request.path == "/endless") response.stream = std::make_shared<Endless>(streams);
        response.content_type = "text/plain";
        response.body = fmt::format("{} {} ?{} known={} type={} body={}", request.method, request.path, request.query,
                                    request.known_host, request.header("Content-Type"), request.body);
        if (request.path == "/headers") response.headers = {{"Cache-Control", "max-age=5"}, {"X-Own", "1"}};
        responder.send(std::move(response));
    }
};

inline std::string get(std::string_view path) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
}

inline std::string post(std::string_view path, std::string_view body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\nContent-Length: {}\r\n\r\n{}", path,
                       body.size(), body);
}

inline unsigned status(const std::string& answer) {
    return answer.size() < 12 ? 0 : static_cast<unsigned>(std::strtoul(answer.c_str() + 9, nullptr, 10));
}

inline std::string body(const std::string& answer) {
    const std::size_t at = answer.find("\r\n\r\n");
    return at == std::string::npos ? std::string() : answer.substr(at + 4);
}

inline bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace muster::testing
