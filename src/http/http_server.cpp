#include "http/http_server.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <exception>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fcntl.h>
#include <fmt/core.h>

#include "base/check.h"
#include "base/thread_name.h"
#include "http/http_admission.h"
#include "http/http_connection.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// After a failed accept, when most likely no descriptor is free: trying again at once would only spin (fault 9).
constexpr std::chrono::milliseconds accept_pause{200};
// Connections that are taken before others have their turn: at most this, and at most as many as may be served. Each
// holds a descriptor until it is judged.
constexpr std::size_t accepts_max = 64;
// Turns that those already here get before a newcomer over a limit is judged: enough to read what has arrived, to
// answer it and to see that the peer has left.
constexpr int turns_before_refusal = 8;

tcp::endpoint to_endpoint(const HttpListen& listen) {
    if (listen.host.is_v4()) return {asio::ip::make_address_v4(listen.host.to_string()), listen.port};
    return {asio::ip::address_v6(listen.host.bytes()), listen.port};
}

std::string address_text(const IpAddress& host, std::uint16_t port) {
    return host.is_v4() ? fmt::format("{}:{}", host.to_string(), port) : fmt::format("[{}]:{}", host.to_string(), port);
}

int copy_of(int socket) {
    return ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
}

}  // namespace

// The listening socket, the thread, and the connections that came in.
class HttpServer::Acceptor {
public:
    Acceptor(const HttpListen& listen, const HttpLimits& limits, Log& log)
        : context_(std::make_shared<asio::io_context>(1)),
          listener_(*context_),
          pause_(*context_),
          grace_(*context_),
          work_(std::make_shared<Work>(context_)),
          shared_(new HttpShared{limits, nullptr, listen.host, listen.hosts, log, work_}),
          admission_(limits.quota, shared_) {
        MUSTER_CHECK(!listen.tls || listen.clock, "certificates are judged by a clock");
        shared_->tls = listen.tls;
        shared_->clock = listen.clock;
        open(listen);
    }

    void serve(HttpHandler handler) {
        shared_->handler = std::move(handler);
        accept();
        thread_ = std::thread([this] { run(); });
    }

    ~Acceptor() {
        if (!thread_.joinable()) return;
        try {
            asio::post(*context_, [this] { stop(); });
        } catch (...) {
            // No memory for a graceful end.
            context_->stop();
        }
        thread_.join();
    }

    std::string address() const { return address_text(shared_->listening, port_); }
    std::uint16_t port() const { return port_; }
    int kept_socket() { return copy_of(listener_.native_handle()); }

    std::shared_ptr<HttpThread> thread() const { return work_; }

    void set_quota(const HttpQuota::Limits& limits) {
        asio::post(*context_, [this, limits] { admission_.set_limits(limits); });
    }

    void set_tls(std::shared_ptr<const TlsServerContext> context) {
        asio::post(*context_, [this, context = std::move(context)] {
            if (shared_->tls && context) shared_->tls = context;
        });
    }

    HttpFigures figures() const {
        HttpFigures figures;
        for (std::size_t i = 0; i < figures.tls_failed.size(); ++i)
            figures.tls_failed[i] = shared_->tls_failed[i].load(std::memory_order_relaxed);
        figures.tls_handshakes = shared_->tls_handshakes.load(std::memory_order_relaxed);
        admission_.tell(figures);
        figures.requests = shared_->requests.load(std::memory_order_relaxed);
        figures.refused_requests = shared_->refused_requests.load(std::memory_order_relaxed);
        figures.accept_errors = accept_errors_.load(std::memory_order_relaxed);
        return figures;
    }

private:
    class Work final : public HttpThread {
    public:
        explicit Work(const std::shared_ptr<asio::io_context>& context) : context_(context) {}

        void post(std::function<void()> work) override {
            if (const auto context = context_.lock()) asio::post(*context, std::move(work));
        }
        void after(Duration delay, std::function<void()> work) override {
            const auto context = context_.lock();
            if (!context) return;
            const auto timer = std::make_shared<asio::steady_timer>(*context, delay);
            timer->async_wait([timer, work = std::move(work)](error_code error) {
                if (!error) work();
            });
        }
        void in_turn(std::function<void()> work) override {
            waiting_.push_back(std::move(work));
            if (waiting_.size() == 1) post_next();
        }

    private:
        void post_next() {
            post([this] {
                const std::function<void()> work = std::move(waiting_.front());
                waiting_.pop_front();
                if (!waiting_.empty()) post_next();  // before the work, which may throw
                work();
            });
        }

        const std::weak_ptr<asio::io_context> context_;
        std::deque<std::function<void()>> waiting_;  // HTTP thread only; not empty: a call of the first is posted
    };

    // Out of memory in one connection must not end the others (fault 8).
    void run() {
        name_this_thread("http");
        while (!context_->stopped()) {
            try {
                context_->run();
            } catch (const std::exception& failure) {
                shared_->log.error("HTTP connection failed: {}", failure.what());
            }
        }
    }

    void open(const HttpListen& listen) {
        const tcp::endpoint endpoint = to_endpoint(listen);
        error_code error;
        if (listen.socket >= 0) {
            const int copy = copy_of(listen.socket);
            if (copy < 0) error.assign(errno, boost::system::system_category());
            if (!error) listener_.assign(endpoint.protocol(), copy, error);
        } else {
            listener_.open(endpoint.protocol(), error);
            if (!error) listener_.set_option(tcp::acceptor::reuse_address(true), error);
            if (!error) listener_.bind(endpoint, error);
            if (!error) listener_.listen(asio::socket_base::max_listen_connections, error);
        }
        if (!error) listener_.non_blocking(true, error);
        if (!error) port_ = listener_.local_endpoint(error).port();
        if (!error) return;
        throw HttpListenError(fmt::format("cannot listen on {} (http): {}", address_text(listen.host, listen.port),
                                          error == asio::error::address_in_use ? "address in use" : error.message()));
    }

    void accept() {
        listener_.async_wait(tcp::acceptor::wait_read, [this](error_code error) {
            if (stopping_) return;
            if (!error) error = accept_those_waiting();
            if (!over_limit_.empty()) return give_turns(turns_before_refusal, error);
            accepted(error);
        });
    }

    void accepted(error_code error) {
        if (!error) return accept();
        accept_errors_.fetch_add(1, std::memory_order_relaxed);
        shared_->log.warning("Cannot accept HTTP connections for now: {}", error.message());
        pause_.expires_after(accept_pause);
        pause_.async_wait([this](error_code cancelled) {
            if (!cancelled) accept();
        });
    }

    // Those already here may be about to leave, or may only have to be read to be seen as such.
    void give_turns(int turns, error_code accept_error) {
        asio::post(*context_, [this, turns, accept_error] {
            if (stopping_) return;
            error_code error = accept_error;
            try {
                judge_those_over_limit(turns <= 1);
            } catch (const std::bad_alloc&) {
                over_limit_.clear();
                error = asio::error::no_memory;
            }
            if (!over_limit_.empty()) return give_turns(turns - 1, error);
            accepted(error);
        });
    }

    void judge_those_over_limit(bool for_good) {
        for (auto& connection : std::exchange(over_limit_, {})) {
            if (for_good)
                admission_.admit_anyway(connection);
            else if (!admission_.admit_if_room(connection))
                over_limit_.push_back(std::move(connection));
        }
    }

    // Many at a time: one at a time, each would wait for a turn of all other connections, and who comes last for the
    // turns of all that came before.
    error_code accept_those_waiting() {
        const std::size_t most = std::min(accepts_max, admission_.limits().connections);
        for (std::size_t i = 0; i < most; ++i) {
            error_code error;
            tcp::socket socket(*context_);
            listener_.accept(socket, error);
            if (error == asio::error::would_block || error == asio::error::try_again) return {};
            // A peer that left again is none of our failures.
            if (error == asio::error::connection_aborted) continue;
            if (error) return error;
            try {
                take(std::move(socket));
            } catch (const std::bad_alloc&) {
                return asio::error::no_memory;
            }
        }
        return {};
    }

    void take(tcp::socket&& socket) {
        error_code error;
        const bool is_v4 = shared_->listening.is_v4();
        const int fd = socket.release(error);
        if (error) return;
        const auto connection = HttpConnection::make(context_, fd, is_v4, shared_,
                                                     [this](HttpConnection* ended) { connection_ended(ended); });
        if (shared_->tls && admission_.comes_too_often(connection->peer())) return;
        if (admission_.admit_if_room(connection)) return;
        if (admission_.is_flooded()) return admission_.admit_anyway(connection);
        over_limit_.push_back(connection);
    }

    void connection_ended(HttpConnection* connection) {
        admission_.ended(connection);
        if (stopping_ && admission_.empty()) context_->stop();
    }

    void stop() {
        stopping_ = true;
        error_code ignored;
        listener_.close(ignored);
        pause_.cancel();
        over_limit_.clear();
        for (const auto& connection : admission_.all()) connection->finish();
        if (admission_.empty()) return context_->stop();
        grace_.expires_after(shared_->limits.stop_grace);
        grace_.async_wait([this](error_code) {
            for (const auto& connection : admission_.all()) connection->cut();
        });
    }

    // Shared with answers that are still out when the server goes.
    const std::shared_ptr<asio::io_context> context_;

    // HTTP thread only.
    tcp::acceptor listener_;
    asio::steady_timer pause_;
    asio::steady_timer grace_;
    std::vector<std::shared_ptr<HttpConnection>> over_limit_;
    bool stopping_ = false;

    // Any thread.
    const std::shared_ptr<Work> work_;
    const std::shared_ptr<HttpShared> shared_;
    HttpAdmission admission_;  // HTTP thread only, but for its figures
    std::uint16_t port_ = 0;
    std::atomic<std::uint64_t> accept_errors_{0};

    std::thread thread_;
};

HttpServer::HttpServer(const HttpListen& listen, const HttpLimits& limits, Log& log)
    : acceptor_(std::make_unique<Acceptor>(listen, limits, log)) {}

void HttpServer::serve(HttpHandler handler) {
    acceptor_->serve(std::move(handler));
}

HttpServer::~HttpServer() = default;

std::string HttpServer::address() const {
    return acceptor_->address();
}

std::uint16_t HttpServer::port() const {
    return acceptor_->port();
}

int HttpServer::kept_socket() const {
    return acceptor_->kept_socket();
}

void HttpServer::set_quota(const HttpQuota::Limits& limits) {
    acceptor_->set_quota(limits);
}

void HttpServer::set_tls(std::shared_ptr<const TlsServerContext> context) {
    acceptor_->set_tls(std::move(context));
}

HttpFigures HttpServer::figures() const {
    return acceptor_->figures();
}

std::shared_ptr<HttpThread> HttpServer::thread() const {
    return acceptor_->thread();
}

}  // namespace muster
