#include "sdk/src/runner_loop.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/shared_deadline.h"
#include "sdk/src/earliest.h"
#include "sdk/src/tcp_address.h"

namespace muster::sdk {

namespace {

// With more clients than this a pass is dear, and what they are due for, heartbeats above all, is done together.
constexpr std::size_t few_clients = 64;
constexpr Duration many_clients_step = std::chrono::milliseconds(100);
// Of a runner that stops, for clients that wait for an answer before they leave.
constexpr std::chrono::seconds leave_max{3};

std::uint64_t random_seed() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace

void RunnerLoop::add(Client& client, std::string_view address, std::shared_ptr<const TlsSource> tls) {
    auto addresses = TcpAddress::parse_list(address);
    if (addresses.empty()) throw std::invalid_argument("no host:port: " + std::string(address));
    const std::lock_guard pass(pass_);
    if (!client.runner_.expired()) throw std::invalid_argument("the client is in a runner already");
    client.seed_jitter(random_seed());
    auto connection = std::make_unique<Connection>(client, std::move(addresses), wake_, on_error_, std::move(tls));
    members_.push_back(std::make_unique<Member>(Member{.client = &client, .connection = std::move(connection)}));
    client.runner_ = weak_from_this();
    wake_->wake();
}

void RunnerLoop::remove(Client& client) {
    const std::lock_guard pass(pass_);
    Member* member = find(client);
    if (!member) return;
    member->leaving = true;
    if (!member->called) visit_member(*member, now(), [](Connection&) {});
    wake_->wake();
}

void RunnerLoop::let_go(Client& client) noexcept {
    const std::lock_guard pass(pass_);
    if (Member* member = find(client)) {
        MUSTER_CHECK(!member->called, "a client of the SDK was destroyed inside its own callback");
        member->connection.reset();
        member->client = nullptr;
    }
    client.runner_.reset();
    client.alive_.reset();
    wake_->wake();  // a poll() that waits for the socket keeps it open
}

void RunnerLoop::let_all_go() noexcept {
    const std::lock_guard pass(pass_);
    for (const auto& member : members_) {
        if (member->client) member->client->runner_.reset();
    }
    members_.clear();
}

void RunnerLoop::stop() noexcept {
    stopping_.store(true);
    wake_->wake();
}

void RunnerLoop::post(Duration delay, std::function<void()> function) {
    push(after(delay), {.function = std::move(function)});
}

void RunnerLoop::post(const Client& client, Duration delay, std::function<void()> function) {
    push(after(delay), {.function = std::move(function), .needed = client.alive_});
}

void RunnerLoop::push(Time due, Posted posted) {
    {
        const std::lock_guard lock(posted_mutex_);
        posted_.emplace(due, std::move(posted));
    }
    wake_->wake();
}

// Neither a delay below 0 nor the longest there is brings the time out of its range.
Time RunnerLoop::after(Duration delay) {
    const Time from = now();
    if (delay >= Time::max() - from) return Time::max();
    return from + std::max(delay, Duration{});
}

void RunnerLoop::run() noexcept {
    std::unique_lock pass(pass_);
    while (!stopping_.exchange(false)) {
        turn();
        wait_for_work(std::nullopt, pass);
    }
    finish(pass);
}

// One pass: what is due, what was posted, what is to be sent.
void RunnerLoop::turn() noexcept {
    std::erase_if(members_, [](const auto& member) { return !member->client; });
    const Time time = now();
    each_connection(time, [&](Connection& connection) { connection.tick(time); });
    run_posted(time);
    each_connection(time, [&](Connection& connection) { connection.turn(time); });
}

// Until there are bytes, something is due or posted, or `until`. Takes the bytes.
void RunnerLoop::wait_for_work(std::optional<Time> until, std::unique_lock<std::recursive_mutex>& pass) noexcept {
    waiting_.clear();
    waiting_.push_back({.fd = wake_->readable_fd(), .events = POLLIN, .revents = 0});
    std::optional<Time> of_clients;
    for (const auto& member : members_) {
        const bool here = member->client != nullptr;
        waiting_.push_back(here ? member->connection->interest() : pollfd{.fd = -1, .events = 0, .revents = 0});
        if (here) of_clients = earliest({of_clients, member->connection->next_turn()});
    }
    if (of_clients && members_.size() > few_clients) of_clients = shared_deadline(*of_clients, many_clients_step);
    const int timeout = timeout_ms(earliest({until, next_posted(), of_clients}));
    pass.unlock();
    const int found = poll(waiting_.data(), static_cast<nfds_t>(waiting_.size()), timeout);
    pass.lock();
    if (found < 0) return;  // interrupted
    if (waiting_[0].revents != 0) wake_->clear();

    // Members that came meanwhile stand behind those that were waited for.
    const Time time = now();
    for (std::size_t i = 1; i < waiting_.size(); ++i) {
        const short events = waiting_[i].revents;
        visit_member(*members_[i - 1], time, [&](Connection& connection) { connection.ready(events, time); });
    }
}

// Does what was posted before the stop, and sends what the clients still have to say.
void RunnerLoop::finish(std::unique_lock<std::recursive_mutex>& pass) noexcept {
    turn();
    const Time stopped = now();
    const auto flushed = [](const auto& member) { return !member->client || member->connection->flushed(); };
    const auto leaving = [](const auto& member) { return member->client && member->client->leaving(); };
    for (;;) {
        const bool some_leave = std::ranges::any_of(members_, leaving);
        const Time give_up = stopped + (some_leave ? leave_max : Connection::flush_max);
        if ((!some_leave && std::ranges::all_of(members_, flushed)) || now() >= give_up) break;
        wait_for_work(give_up, pass);
        turn();
    }
    const Time time = now();
    each_connection(time, [&](Connection& connection) { connection.lose(time); });
}

// Also those that are added meanwhile, which a range-based loop would stumble over.
template <class Visit>
void RunnerLoop::each_connection(Time time, Visit visit) noexcept {
    // NOLINTNEXTLINE(modernize-loop-convert)
    for (std::size_t i = 0; i < members_.size(); ++i) visit_member(*members_[i], time, visit);
}

// Clients catch what callbacks throw, so only lack of memory comes here; it costs that one connection.
template <class Visit>
void RunnerLoop::visit_member(Member& member, Time time, Visit visit) noexcept {
    if (!member.client) return;
    member.called = true;
    guarded(on_error_, [&] {
        try {
            visit(*member.connection);
        } catch (...) {
            member.connection->lose(time);
            throw;
        }
    });
    if (member.leaving) {
        guarded(on_error_, [&] { member.connection->lose(time); });
        member.client->runner_.reset();
        member.connection.reset();
        member.client = nullptr;
    }
    member.called = false;
}

void RunnerLoop::run_posted(Time time) noexcept {
    std::multimap<Time, Posted> due;
    {
        const std::lock_guard lock(posted_mutex_);
        const auto later = posted_.upper_bound(time);
        while (posted_.begin() != later) due.insert(due.end(), posted_.extract(posted_.begin()));
    }
    for (const auto& [when, posted] : due) {
        if (!posted.needed || !posted.needed->expired()) call(on_error_, posted.function);
    }
}

std::optional<Time> RunnerLoop::next_posted() {
    const std::lock_guard lock(posted_mutex_);
    if (posted_.empty()) return std::nullopt;
    return posted_.begin()->first;
}

// For poll(): rounded up, so that what it waits for is due when it returns.
int RunnerLoop::timeout_ms(std::optional<Time> next) {
    if (!next) return -1;
    constexpr std::chrono::milliseconds most = std::chrono::hours(1);
    const Time from = now();
    if (*next <= from) return 0;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - from);
    return static_cast<int>(std::min(left, most).count());
}

RunnerLoop::Member* RunnerLoop::find(const Client& client) {
    const auto found = std::ranges::find(members_, &client, [](const auto& member) { return member->client; });
    return found == members_.end() ? nullptr : found->get();
}

}  // namespace muster::sdk
