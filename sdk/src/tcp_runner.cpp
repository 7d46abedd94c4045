#include "muster/tcp_runner.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "sdk/src/runner_loop.h"

namespace muster::sdk {

namespace {

Outcome runs_already() {
    return {ErrorCode::invalid_call, "The runner runs already"};
}

}  // namespace

// Which thread the runner is on, so that nobody waits for himself and nobody runs it twice.
class TcpRunner::Thread {
public:
    ~Thread() {
        if (own_.joinable()) own_.join();
    }

    // False when the runner runs already.
    bool enter() {
        const std::lock_guard lock(mutex_);
        if (running_) return false;
        running_ = true;
        on_ = std::this_thread::get_id();
        return true;
    }
    void leave() {
        const std::lock_guard lock(mutex_);
        running_ = false;
        on_ = {};
        stopped_.notify_all();
    }

    template <class Body>
    Outcome start(Body body) {
        const std::lock_guard lock(mutex_);
        if (running_) return runs_already();
        if (own_.joinable()) own_.join();  // its loop has ended before
        try {
            own_ = std::thread([this, body] {
                {
                    const std::lock_guard started(mutex_);  // by then start() has written down that it runs
                    on_ = std::this_thread::get_id();
                }
                body();
                leave();
            });
        } catch (const std::system_error& error) {
            return {ErrorCode::system_error, error.what()};
        }
        running_ = true;
        return {};
    }

    bool is_this_one() {
        const std::lock_guard lock(mutex_);
        return running_ && on_ == std::this_thread::get_id();
    }

    Outcome wait() {
        if (is_this_one()) return {ErrorCode::invalid_call, "The runner would wait for itself"};
        std::unique_lock lock(mutex_);
        stopped_.wait(lock, [this] { return !running_; });
        return {};
    }

private:
    std::mutex mutex_;
    std::condition_variable stopped_;
    bool running_ = false;  // guarded by mutex_
    std::thread::id on_;    // guarded by mutex_
    std::thread own_;       // of start(); guarded by mutex_
};

TcpRunner::TcpRunner(std::function<void(const Outcome&)> on_error)
    : loop_(std::make_shared<RunnerLoop>(std::move(on_error))), thread_(std::make_unique<Thread>()) {}

TcpRunner::~TcpRunner() {
    MUSTER_CHECK(!thread_->is_this_one(), "a runner of the SDK was destroyed inside a callback of its own");
    stop();
    thread_->wait();
    loop_->let_all_go();
}

void TcpRunner::add(Client& client, std::string_view address) {
    constexpr std::string_view scheme = "muster-tls://";
    if (!address.starts_with(scheme)) return loop_->add(client, address, nullptr);
    add(client, address.substr(scheme.size()), TlsOptions::of_environment());
}

void TcpRunner::add(Client& client, std::string_view address, const TlsOptions& tls) {
    add(client, address, TlsCredentials(tls));
}
void TcpRunner::add(Client& client, std::string_view address, const TlsCredentials& tls) {
    loop_->add(client, address, tls.source_);
}
void TcpRunner::remove(Client& client) {
    loop_->remove(client);
}
Outcome TcpRunner::run() {
    if (!thread_->enter()) return runs_already();
    loop_->run();
    thread_->leave();
    return {};
}
Outcome TcpRunner::start() {
    return thread_->start([loop = loop_.get()] { loop->run(); });
}
Outcome TcpRunner::wait() {
    return thread_->wait();
}
void TcpRunner::stop() noexcept {
    loop_->stop();
}
void TcpRunner::post(std::function<void()> function) {
    loop_->post(Duration{}, std::move(function));
}
void TcpRunner::post_after(Duration delay, std::function<void()> function) {
    loop_->post(delay, std::move(function));
}
void TcpRunner::post(const Client& client, std::function<void()> function) {
    loop_->post(client, Duration{}, std::move(function));
}
void TcpRunner::post_after(const Client& client, Duration delay, std::function<void()> function) {
    loop_->post(client, delay, std::move(function));
}

}  // namespace muster::sdk
