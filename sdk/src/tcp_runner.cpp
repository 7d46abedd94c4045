#include "muster/tcp_runner.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include "sdk/src/callbacks.h"
#include "sdk/src/connection.h"
#include "sdk/src/earliest.h"
#include "sdk/src/tcp_address.h"
#include "sdk/src/wake_pipe.h"

namespace muster::sdk {

namespace {

std::uint64_t random_seed() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace

class TcpRunner::Loop {
public:
    explicit Loop(OnError on_error) : on_error_(std::move(on_error)) {}

    void add(Client& client, std::string_view text) {
        const auto address = TcpAddress::parse(text);
        if (!address) throw std::invalid_argument("no host:port: " + std::string(text));
        client.seed_jitter(random_seed());
        connections_.push_back(std::make_unique<Connection>(client, *address, wake_, on_error_));
    }

    void remove(Client& client) {
        const auto its = [&](const auto& connection) { return &connection->client() == &client; };
        for (const auto& connection : connections_) {
            if (its(connection)) connection->lose(now());
        }
        std::erase_if(connections_, its);
    }

    void run() noexcept {
        while (!stopping_.exchange(false)) {
            turn();
            wait_for_work(std::nullopt);
        }
        finish();
    }

    void stop() noexcept {
        stopping_.store(true);
        wake_->wake();
    }

    void post(Time due, std::function<void()> function) {
        {
            const std::lock_guard lock(mutex_);
            posted_.emplace(due, std::move(function));
        }
        wake_->wake();
    }

    std::thread thread;  // of start()

    static Time now() { return std::chrono::steady_clock::now(); }

private:
    // One pass: what is due, what was posted, what is to be sent.
    void turn() noexcept {
        const Time time = now();
        each_connection(time, [&](Connection& connection) { connection.tick(time); });
        run_posted(time);
        each_connection(time, [&](Connection& connection) { connection.turn(time); });
    }

    // Until there are bytes, something is due or posted, or `until`. Takes the bytes.
    void wait_for_work(std::optional<Time> until) noexcept {
        waiting_.clear();
        waiting_.push_back({.fd = wake_->readable_fd(), .events = POLLIN, .revents = 0});
        std::optional<Time> next = earliest({until, next_posted()});
        for (const auto& connection : connections_) {
            waiting_.push_back(connection->interest());
            next = earliest({next, connection->next_turn()});
        }
        if (poll(waiting_.data(), static_cast<nfds_t>(waiting_.size()), timeout_ms(next)) < 0) return;  // interrupted
        if (waiting_[0].revents != 0) wake_->clear();

        const Time time = now();
        std::size_t place = 1;
        each_connection(time, [&](Connection& connection) { connection.ready(waiting_[place++].revents, time); });
    }

    // Does what was posted before the stop, and sends what the clients still have to say.
    void finish() noexcept {
        turn();
        const Time give_up = now() + Connection::flush_max;
        const auto flushed = [](const auto& connection) { return connection->flushed(); };
        while (!std::ranges::all_of(connections_, flushed) && now() < give_up) {
            wait_for_work(give_up);
            turn();
        }
        const Time time = now();
        each_connection(time, [&](Connection& connection) { connection.lose(time); });
    }

    // Clients catch what callbacks throw, so only lack of memory comes here; it costs that one connection.
    template <class Visit>
    void each_connection(Time time, Visit visit) noexcept {
        for (const auto& connection : connections_) {
            guarded(on_error_, [&] {
                try {
                    visit(*connection);
                } catch (...) {
                    connection->lose(time);
                    throw;
                }
            });
        }
    }

    void run_posted(Time time) noexcept {
        std::multimap<Time, std::function<void()>> due;
        {
            const std::lock_guard lock(mutex_);
            const auto later = posted_.upper_bound(time);
            while (posted_.begin() != later) due.insert(due.end(), posted_.extract(posted_.begin()));
        }
        for (const auto& [when, function] : due) call(on_error_, function);
    }

    std::optional<Time> next_posted() {
        const std::lock_guard lock(mutex_);
        if (posted_.empty()) return std::nullopt;
        return posted_.begin()->first;
    }

    // For poll(): rounded up, so that what it waits for is due when it returns.
    static int timeout_ms(std::optional<Time> next) {
        if (!next) return -1;
        constexpr std::chrono::milliseconds most = std::chrono::hours(1);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now());
        return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), most).count());
    }

    // The runner's thread, or anyone while it does not run.
    const OnError on_error_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<pollfd> waiting_;  // the wake pipe, then each connection; lends its memory to the next wait

    // Any thread.
    const std::shared_ptr<const WakePipe> wake_ = std::make_shared<const WakePipe>();
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::multimap<Time, std::function<void()>> posted_;  // guarded by mutex_
};

TcpRunner::TcpRunner(std::function<void(const Outcome&)> on_error)
    : loop_(std::make_unique<Loop>(std::move(on_error))) {}

TcpRunner::~TcpRunner() {
    stop();
    wait();
}

void TcpRunner::add(Client& client, std::string_view address) {
    loop_->add(client, address);
}
void TcpRunner::remove(Client& client) {
    loop_->remove(client);
}
void TcpRunner::run() {
    loop_->run();
}
void TcpRunner::start() {
    wait();
    loop_->thread = std::thread([loop = loop_.get()] { loop->run(); });
}
void TcpRunner::wait() {
    if (loop_->thread.joinable()) loop_->thread.join();
}
void TcpRunner::stop() noexcept {
    loop_->stop();
}
void TcpRunner::post(std::function<void()> function) {
    loop_->post(Loop::now(), std::move(function));
}
void TcpRunner::post_after(Duration delay, std::function<void()> function) {
    loop_->post(Loop::now() + delay, std::move(function));
}

}  // namespace muster::sdk
