#include "loopback/loopback_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/core.h>
#include <unistd.h>

#include "base/thread_name.h"
#include "loopback/loopback_connection.h"
#include "loopback/loopback_relay.h"
#include "loopback/peer_owner.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr int backlog = 64;
// Ports that are tried when any will do: one may be free on 127.0.0.1 and not on ::1.
constexpr int tries_max = 32;
// After a failed accept, when most likely no descriptor is free.
constexpr std::chrono::milliseconds accept_pause{200};

constexpr std::chrono::seconds tick{1};

// How long the closing of a port waits for the thread to come by.
constexpr std::chrono::seconds close_patience{1};

class Socket {
public:
    explicit Socket(int fd = -1) : fd_(fd) {}
    Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Socket() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

// Not inherited by the processes that the agent starts.
Socket listening(bool v4, std::uint16_t port, int& failure) {
    Socket fd(socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    sockaddr_in v4_address{};
    v4_address.sin_family = AF_INET;
    v4_address.sin_port = htons(port);
    v4_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6_address{};
    v6_address.sin6_family = AF_INET6;
    v6_address.sin6_port = htons(port);
    v6_address.sin6_addr = in6addr_loopback;
    const auto* address =
        v4 ? reinterpret_cast<const sockaddr*>(&v4_address) : reinterpret_cast<const sockaddr*>(&v6_address);
    const socklen_t size = v4 ? sizeof v4_address : sizeof v6_address;

    failure = 0;
    if (fd.get() < 0 || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (!v4 && setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(fd.get(), address, size) != 0 || listen(fd.get(), backlog) != 0)
        failure = errno;
    return fd;
}

std::uint16_t port_of(int fd) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    return ntohs(address.sin_port);
}

struct Listeners {
    Socket v4;
    Socket v6;  // none where the machine has no ::1
    std::uint16_t port = 0;
};

Listeners open_listeners(std::uint16_t wanted) {
    int failure = 0;
    for (int i = 0; i < tries_max; ++i) {
        Listeners listeners;
        listeners.v4 = listening(true, wanted, failure);
        if (failure == EADDRINUSE || failure == EACCES || failure == EMFILE || failure == ENFILE) break;
        if (failure != 0) continue;
        listeners.port = port_of(listeners.v4.get());
        listeners.v6 = listening(false, listeners.port, failure);
        if (failure == EAFNOSUPPORT || failure == EADDRNOTAVAIL) listeners.v6 = Socket();
        if (failure == 0 || failure == EAFNOSUPPORT || failure == EADDRNOTAVAIL) return listeners;
        if (wanted != 0) break;
    }
    throw LoopbackError(
        fmt::format("cannot listen on loopback port {}: {}", wanted,
                    failure == EADDRINUSE ? "address in use" : std::generic_category().message(failure)));
}

// A port as the server's thread has it. Loopback thread only, but for its making.
class OpenPort : public std::enable_shared_from_this<OpenPort> {
public:
    OpenPort(asio::io_context& context, Listeners&& listeners, std::shared_ptr<LoopbackShared> shared,
             std::function<void(int)> take)
        : context_(context), shared_(std::move(shared)), take_(std::move(take)), pause_(context) {
        for (Socket* socket : {&listeners.v4, &listeners.v6})
            if (socket->get() >= 0) listeners_.emplace_back(context, socket->release());
    }

    void serve() {
        for (std::size_t i = 0; i < listeners_.size(); ++i) accept(i);
    }

    void close() {
        closed_ = true;
        error_code ignored;
        for (auto& listener : listeners_) listener.close(ignored);
        pause_.cancel();
        // A copy, since connections leave the map as they end.
        std::vector<std::shared_ptr<LoopbackConnection>> all;
        all.reserve(connections_.size());
        for (const auto& [key, connection] : connections_) all.push_back(connection);
        for (const auto& connection : all) connection->cut();
    }

private:
    void accept(std::size_t which) {
        listeners_[which].async_wait(asio::posix::stream_descriptor::wait_read,
                                     [self = shared_from_this(), which](error_code error) {
                                         if (!error && !self->closed_) self->accept_one(which);
                                     });
    }

    // One at a time: a flood of connections waits in its own queue.
    void accept_one(std::size_t which) {
        Socket fd(accept4(listeners_[which].native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (fd.get() < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            pause_.expires_after(accept_pause);
            pause_.async_wait([self = shared_from_this(), which](error_code cancelled) {
                if (!cancelled && !self->closed_) self->accept(which);
            });
            return;
        }
        if (fd.get() >= 0) admit(std::move(fd), which == 0);
        accept(which);
    }

    void admit(Socket&& fd, bool is_v4) {
        const auto owner = peer_owner(fd.get());
        if (!owner || (*owner != geteuid() && *owner != 0)) {
            if (owner)
                shared_->log.warning("A process of user {} was turned away from SDK port {}, which serves user {} only",
                                     *owner, port_of(fd.get()), geteuid());
            return;
        }
        if (connections_.size() >= shared_->limits.connections && !make_room()) return;
        const auto on_end = [this](LoopbackConnection* ended) { connections_.erase(ended); };
        std::shared_ptr<LoopbackConnection> connection;
        if (take_) {
            std::array<int, 2> pair{};
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) return;
            connection = make_relay(context_, fd.release(), pair[0], shared_, on_end);
            take_(pair[1]);
        } else {
            connection = LoopbackConnection::make(context_, fd.release(), is_v4, shared_, on_end);
        }
        connections_.emplace(connection.get(), connection);
        connection->serve();
    }

    bool make_room() {
        std::shared_ptr<LoopbackConnection> longest;
        for (const auto& [key, connection] : connections_)
            if (connection->idle_since() && (!longest || *connection->idle_since() < *longest->idle_since()))
                longest = connection;
        if (longest) longest->cut();
        return longest != nullptr;
    }

    asio::io_context& context_;
    const std::shared_ptr<LoopbackShared> shared_;
    const std::function<void(int)> take_;
    asio::steady_timer pause_;
    std::vector<asio::posix::stream_descriptor> listeners_;
    std::unordered_map<LoopbackConnection*, std::shared_ptr<LoopbackConnection>> connections_;
    bool closed_ = false;
};

}  // namespace

class LoopbackServer::Thread : public std::enable_shared_from_this<Thread> {
public:
    Thread(const Clock& clock, Log& log, const LoopbackLimits& limits)
        : clock_(clock), log_(log), limits_(limits), work_(asio::make_work_guard(context_)) {}

    void start() {
        keep_ticking();
        thread_ = std::thread([this] { run(); });
    }

    void stop() {
        context_.stop();
        thread_.join();
    }

    std::unique_ptr<LoopbackPort> open(std::uint16_t port, std::shared_ptr<LoopbackHandler> handler,
                                       std::function<void(int)> take) {
        Listeners listeners = open_listeners(port);
        const std::uint16_t number = listeners.port;
        auto shared = std::shared_ptr<LoopbackShared>(
            new LoopbackShared{clock_, log_, limits_, std::move(handler), Pace(limits_.requests)});
        auto open_port = std::make_shared<OpenPort>(context_, std::move(listeners), std::move(shared), std::move(take));
        asio::post(context_, [open_port] { open_port->serve(); });
        return std::make_unique<Port>(shared_from_this(), std::move(open_port), number);
    }

    void after(Duration delay, std::function<void()> work) {
        asio::post(context_, [this, delay, work = std::move(work)]() mutable {
            const auto timer = std::make_shared<asio::steady_timer>(context_, delay);
            timer->async_wait([timer, work = std::move(work)](error_code error) {
                if (!error) work();
            });
        });
    }

private:
    class Port final : public LoopbackPort {
    public:
        Port(std::shared_ptr<Thread> thread, std::shared_ptr<OpenPort> port, std::uint16_t number)
            : thread_(std::move(thread)), port_(std::move(port)), number_(number) {}
        // Waits, so that the number is free for the next.
        ~Port() override {
            try {
                close();
            } catch (...) {
                // No memory for it: the port stays open until the thread ends.
            }
        }
        std::uint16_t number() const override { return number_; }

    private:
        void close() {
            const auto closed = std::make_shared<std::promise<void>>();
            asio::post(thread_->context_, [port = std::move(port_), closed] {
                port->close();
                closed->set_value();
            });
            const bool nobody_works =
                thread_->context_.stopped() || thread_->thread_.get_id() == std::this_thread::get_id();
            if (!nobody_works) closed->get_future().wait_for(close_patience);
        }

        const std::shared_ptr<Thread> thread_;
        std::shared_ptr<OpenPort> port_;
        const std::uint16_t number_;
    };

    // The kernel's timer is set anew for whatever is due first: while this is, deadlines come and go without it.
    void keep_ticking() {
        tick_.expires_after(tick);
        tick_.async_wait([this](error_code cancelled) {
            if (!cancelled) keep_ticking();
        });
    }

    // Out of memory in one connection must not end the others.
    void run() {
        name_this_thread("sdk");
        while (!context_.stopped()) {
            try {
                context_.run();
            } catch (const std::exception& failure) {
                log_.error("SDK connection failed: {}", failure.what());
            }
        }
    }

    const Clock& clock_;
    Log& log_;
    const LoopbackLimits limits_;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    asio::steady_timer tick_{context_};
    std::thread thread_;
};

LoopbackServer::LoopbackServer(const Clock& clock, Log& log, const LoopbackLimits& limits)
    : thread_(std::make_shared<Thread>(clock, log, limits)) {
    thread_->start();
}

LoopbackServer::~LoopbackServer() {
    thread_->stop();
}

std::unique_ptr<LoopbackPort> LoopbackServer::open_http(std::uint16_t port, std::shared_ptr<LoopbackHandler> handler) {
    return thread_->open(port, std::move(handler), nullptr);
}

std::unique_ptr<LoopbackPort> LoopbackServer::open_http2(std::uint16_t port, std::function<void(int fd)> take) {
    return thread_->open(port, nullptr, std::move(take));
}

void LoopbackServer::after(Duration delay, std::function<void()> work) {
    thread_->after(delay, std::move(work));
}

}  // namespace muster
