#include "net/network.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <functional>
#include <string>

#include <pthread.h>

#include "base/check.h"
#include "base/thread_name.h"

namespace muster {
namespace {

constexpr Duration stop_turn_wait = std::chrono::milliseconds(10);
// Without threads, a stop does not depend on the clock that was passed in: it may be one that stands still.
constexpr int stop_turns_max = 150;

// Signals are for the thread that waits for them in the daemon.
void block_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void run_worker(NetWorker& worker, std::size_t number) {
    block_signals();
    name_this_thread("net-" + std::to_string(number));
    try {
        while (!worker.is_stopped()) worker.do_work(std::nullopt);
    } catch (const std::exception& error) {
        check_failed("a worker's turn does not throw", error.what(), __FILE__, __LINE__);
    }
}

}  // namespace

NetworkConfig::NetworkConfig() {
    for (const Port port : ports) {
        of(port).order = default_byte_order(port);
        of(port).limits = default_limits(port);
    }
    of(Port::servers).sample_rtt = true;
}

Network::Network(const Clock& clock, Waiter& loop, const NetworkConfig& config)
    : clock_(clock),
      threads_wanted_(config.threads),
      waiter_(config.threads > 0 ? loop : working_waiter_),
      quota_(config.connections_max),
      budget_(config.total_buffers),
      inboxes_(make_inboxes(config)),
      shared_(make_shared(config)),
      workers_(make_workers(config.threads)),
      links_(link_workers(),
             {config.of(Port::servers).order, config.of(Port::matchmakers).order, config.of(Port::players).order}) {
    open_listeners(config);
}

Network::~Network() {
    stop();
}

Network::Inboxes Network::make_inboxes(const NetworkConfig& config) {
    Inboxes made;
    for (const Port port : ports) {
        made[static_cast<std::size_t>(port)] =
            std::make_unique<PortInbox>(port, config.of(port).inbox, [this] { wake_workers(); });
    }
    return made;
}

NetShared Network::make_shared(const NetworkConfig& config) {
    NetShared shared{clock_, waiter_, quota_, budget_, limits_, figures_, tls_, config.on_insecure_peer, {}};
    shared.own_threads = has_threads();
    for (const Port port : ports) {
        limits_.set(port, config.of(port).limits);
        tls_.set(port, config.of(port).tls);
        shared.by_port[static_cast<std::size_t>(port)] = {config.of(port).order, config.of(port).sample_rtt,
                                                          inboxes_[static_cast<std::size_t>(port)].get()};
    }
    return shared;
}

std::vector<std::unique_ptr<NetWorker>> Network::make_workers(std::size_t threads) {
    MUSTER_CHECK(threads < ConnectionTable::workers_max, "a connection's id has eight bits for its worker");
    std::vector<std::unique_ptr<NetWorker>> made;
    for (std::size_t number = 0; number < std::max<std::size_t>(threads, 1); ++number)
        made.push_back(std::make_unique<NetWorker>(number, shared_));
    return made;
}

std::vector<NetWorker*> Network::worker_pointers() const {
    std::vector<NetWorker*> pointers;
    pointers.reserve(workers_.size());
    for (const auto& worker : workers_) pointers.push_back(worker.get());
    return pointers;
}

std::vector<LinkWorker*> Network::link_workers() const {
    std::vector<LinkWorker*> pointers;
    pointers.reserve(workers_.size());
    for (const auto& worker : workers_) pointers.push_back(worker.get());
    return pointers;
}

void Network::set_node_worker(LinkWorker* worker) {
    node_worker_.store(worker, std::memory_order_release);
    links_.set_node_worker(worker);
}

void Network::open_listeners(const NetworkConfig& config) {
    for (const Port port : ports) {
        const auto& address = config.of(port).listen;
        if (!address) continue;
        listeners_.emplace_back(port, *address);
        bound_[static_cast<std::size_t>(port)] = listeners_.back().bound();
    }
}

void Network::start() {
    MUSTER_CHECK(!started_, "a network is started once");
    started_ = true;
    workers_.front()->listen(std::exchange(listeners_, {}), worker_pointers());
    for (std::size_t number = 0; number < threads_wanted_; ++number)
        threads_.emplace_back(run_worker, std::ref(*workers_[number]), number);
}

void Network::stop_accepting() {
    listeners_.clear();
    for (const auto& worker : workers_) worker->stop_accepting();
}

void Network::stop() {
    if (!started_ || std::exchange(stopped_, true)) return;
    for (const auto& worker : workers_) worker->stop();
    for (std::thread& thread : threads_) thread.join();
    for (int turn = 0; !has_threads() && turn < stop_turns_max && !workers_.front()->is_stopped(); ++turn)
        workers_.front()->do_work(stop_turn_wait);
}

void Network::catch_up() {
    if (!started_ || stopped_) return;
    const auto limit = std::chrono::steady_clock::now() + catch_up_max;
    if (!has_threads()) {
        NetWorker& worker = *workers_.front();
        // Under a storm of newcomers those that were here before may be reported by a later turn.
        const std::uint64_t number = worker.catch_up().ask();
        do worker.do_work(Duration::zero());
        while (!worker.catch_up().is_over(number) && std::chrono::steady_clock::now() < limit);
        return;
    }
    std::vector<std::uint64_t> turns;
    for (const auto& worker : workers_) {
        turns.push_back(worker->catch_up().ask());
        worker->wake();
    }
    for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i]->catch_up().wait(turns[i], limit);
}

void Network::turn_without_thread() {
    if (has_threads() || !started_ || stopped_) return;
    if (!std::exchange(turned_in_wait_, false)) workers_.front()->do_work(Duration::zero());
}

void Network::set_tls(Port port, std::shared_ptr<const TlsServerContext> context) {
    MUSTER_CHECK(tls_.of(port) && context, "a port has TLS from the start on, or never");
    tls_.set(port, std::move(context));
    wake_workers();
}

void Network::wake_workers() {
    for (const auto& worker : workers_) worker->wake();
    if (LinkWorker* nodes = node_worker_.load(std::memory_order_acquire)) nodes->wake();
}

void Network::WorkingWaiter::wait_until(std::optional<Time> deadline) {
    std::optional<Duration> wait;
    if (deadline) wait = std::max(*deadline - network_.clock_.now(), Duration::zero());
    network_.workers_.front()->do_work(wait);
    network_.turned_in_wait_ = true;
}

}  // namespace muster
