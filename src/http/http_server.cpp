#include "http/http_server.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/core.h>

#include "base/check.h"
#include "base/thread_name.h"
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
// Connections over a limit that are told so; beyond these they are just closed. And those from loopback over a limit
// that may still ask how we are; beyond these the oldest makes room. Of both, at most half as many as may be served.
constexpr std::size_t turned_away_max = 32;
constexpr std::size_t probes_max = 32;

tcp::endpoint to_endpoint(const HttpListen& listen) {
    if (listen.host.is_v4()) return {asio::ip::make_address_v4(listen.host.to_string()), listen.port};
    return {asio::ip::address_v6(listen.host.bytes()), listen.port};
}

std::string address_text(const IpAddress& host, std::uint16_t port) {
    return host.is_v4() ? fmt::format("{}:{}", host.to_string(), port) : fmt::format("[{}]:{}", host.to_string(), port);
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
          quota_(limits.quota),
          shared_(new HttpShared{limits, nullptr, listen.host, listen.hosts, log}),
          work_(std::make_shared<Work>(context_)) {
        shared_->thread = work_;
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

    std::shared_ptr<HttpThread> thread() const { return work_; }

    void set_quota(const HttpQuota::Limits& limits) {
        asio::post(*context_, [this, limits] { quota_.set_limits(limits); });
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
        figures.connections = connection_count_.load(std::memory_order_relaxed);
        figures.requests = shared_->requests.load(std::memory_order_relaxed);
        figures.refused_requests = shared_->refused_requests.load(std::memory_order_relaxed);
        figures.refused_per_ip = refused_per_ip_.load(std::memory_order_relaxed);
        figures.refused_per_port = refused_per_port_.load(std::memory_order_relaxed);
        figures.refused_accept_rate = refused_accept_rate_.load(std::memory_order_relaxed);
        figures.let_go = let_go_.load(std::memory_order_relaxed);
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
        listener_.open(endpoint.protocol(), error);
        if (!error) listener_.set_option(tcp::acceptor::reuse_address(true), error);
        if (!error) listener_.bind(endpoint, error);
        if (!error) listener_.listen(asio::socket_base::max_listen_connections, error);
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
                admit(connection, admission_of(connection->peer()));
            else
                admit_if_room(std::move(connection));
        }
    }

    // Many at a time: one at a time, each would wait for a turn of all other connections, and who comes last for the
    // turns of all that came before.
    error_code accept_those_waiting() {
        const std::size_t most = std::min(accepts_max, quota_.limits().connections);
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

    // What a connection may ask for.
    enum class Admission : std::uint8_t { served, probes_only, turned_away };
    struct Admitted {
        std::shared_ptr<HttpConnection> connection;
        IpAddress peer;
        Admission as = Admission::served;
    };

    void take(tcp::socket&& socket) {
        error_code error;
        const bool is_v4 = shared_->listening.is_v4();
        const int fd = socket.release(error);
        if (error) return;
        const auto connection = HttpConnection::make(context_, fd, is_v4, shared_,
                                                     [this](HttpConnection* ended) { connection_ended(ended); });
        // Each costs a handshake.
        if (shared_->tls && quota_.comes_too_often(connection->peer(), std::chrono::steady_clock::now())) {
            refused_accept_rate_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        admit_if_room(connection);
    }

    void admit_if_room(std::shared_ptr<HttpConnection> connection) {
        if (quota_.refusal(connection->peer())) return over_limit_.push_back(std::move(connection));
        admit(connection, Admission::served);
    }

    void admit(const std::shared_ptr<HttpConnection>& connection, Admission as) {
        const IpAddress peer = connection->peer();
        if (as == Admission::turned_away && count_of(as) >= beside_the_served(turned_away_max)) return;
        if (as == Admission::probes_only && count_of(as) >= beside_the_served(probes_max)) let_go_of_oldest_probe();

        connections_.emplace(connection.get(), Admitted{connection, peer, as});
        if (as == Admission::served) quota_.take(peer);
        connections_changed();
        switch (as) {
            case Admission::served:
                return connection->serve();
            case Admission::probes_only:
                return connection->serve_probe();
            case Admission::turned_away:
                return connection->turn_away();
        }
    }

    Admission admission_of(const IpAddress& peer) {
        auto refusal = quota_.refusal(peer);
        while (refusal && let_one_go(*refusal, peer)) refusal = quota_.refusal(peer);
        if (!refusal) return Admission::served;
        (*refusal == HttpRefusal::per_ip ? refused_per_ip_ : refused_per_port_).fetch_add(1, std::memory_order_relaxed);
        return peer.is_loopback() ? Admission::probes_only : Admission::turned_away;
    }

    std::size_t beside_the_served(std::size_t most) const {
        return std::clamp<std::size_t>(quota_.limits().connections / 2, 1, most);
    }

    // Ends the connection that has waited longest for its peer, if any has waited long enough.
    bool let_one_go(HttpRefusal refusal, const IpAddress& newcomer) {
        const auto may_go = [&](const Admitted& each, const HttpConnection::Waiting& waiting) {
            if (each.as != Admission::served) return false;
            if (refusal == HttpRefusal::per_ip && each.peer.network() != newcomer.network()) return false;
            return waiting.resting || waiting.time >= shared_->limits.patience;
        };
        const auto longest = longest_waiting(may_go);
        if (!longest) return false;
        let_go_.fetch_add(1, std::memory_order_relaxed);
        longest->cut();
        return true;
    }

    void let_go_of_oldest_probe() {
        const auto oldest = longest_waiting(
            [](const Admitted& each, const HttpConnection::Waiting&) { return each.as == Admission::probes_only; });
        if (oldest) oldest->cut();
    }

    template <class MayGo>
    std::shared_ptr<HttpConnection> longest_waiting(MayGo may_go) const {
        std::shared_ptr<HttpConnection> longest;
        Duration time{0};
        for (const auto& [key, each] : connections_) {
            const auto waiting = each.connection->waiting();
            if (!waiting || !may_go(each, *waiting) || (longest && waiting->time <= time)) continue;
            longest = each.connection;
            time = waiting->time;
        }
        return longest;
    }

    std::size_t count_of(Admission as) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(connections_, [as](const auto& entry) { return entry.second.as == as; }));
    }

    void connection_ended(HttpConnection* connection) {
        const auto found = connections_.find(connection);
        if (found == connections_.end()) return;
        if (found->second.as == Admission::served) quota_.give_back(found->second.peer);
        connections_.erase(found);
        connections_changed();
        if (stopping_ && connections_.empty()) context_->stop();
    }

    void connections_changed() {
        connection_count_.store(connections_.size(), std::memory_order_relaxed);
        shared_->under_pressure = quota_.under_pressure();
    }

    void stop() {
        stopping_ = true;
        error_code ignored;
        listener_.close(ignored);
        pause_.cancel();
        over_limit_.clear();
        for (const auto& connection : live_connections()) connection->finish();
        if (connections_.empty()) return context_->stop();
        grace_.expires_after(shared_->limits.stop_grace);
        grace_.async_wait([this](error_code) {
            for (const auto& connection : live_connections()) connection->cut();
        });
    }

    // A copy, since connections leave the map as they end.
    std::vector<std::shared_ptr<HttpConnection>> live_connections() const {
        std::vector<std::shared_ptr<HttpConnection>> all;
        all.reserve(connections_.size());
        for (const auto& [key, each] : connections_) all.push_back(each.connection);
        return all;
    }

    // Shared with answers that are still out when the server goes.
    const std::shared_ptr<asio::io_context> context_;

    // HTTP thread only.
    tcp::acceptor listener_;
    asio::steady_timer pause_;
    asio::steady_timer grace_;
    HttpQuota quota_;
    std::unordered_map<HttpConnection*, Admitted> connections_;
    std::vector<std::shared_ptr<HttpConnection>> over_limit_;
    bool stopping_ = false;

    // Any thread.
    const std::shared_ptr<HttpShared> shared_;
    const std::shared_ptr<Work> work_;
    std::uint16_t port_ = 0;
    std::atomic<std::uint64_t> connection_count_{0};
    std::atomic<std::uint64_t> refused_per_ip_{0};
    std::atomic<std::uint64_t> refused_accept_rate_{0};
    std::atomic<std::uint64_t> refused_per_port_{0};
    std::atomic<std::uint64_t> let_go_{0};
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
