#include "relay/relay_thread.h"

#include <csignal>
#include <new>
#include <utility>

#include <pthread.h>

#include "base/thread_name.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Duration wait_max = 100ms;

}  // namespace

RelayThread::RelayThread(const Clock& clock, Log& log, GamePorts& ports, RelayOptions options)
    : clock_(clock),
      ports_(ports),
      options_(std::move(options.link)),
      to_links_(ports.network().links()),
      relays_(CellRoutes(std::move(options.cells)), ports.book(), to_links_) {
    for (CellNumber cell = 0; cell < relays_.size(); ++cell)
        links_.emplace_back(log, ports_.relay_poller(), relays_, cell, options_);
    to_owners_.resize(links_.size());
    ports_.wake_relay(true);
    ports_.open();
    thread_ = std::thread([this] { run(); });
}

RelayThread::~RelayThread() {
    stop_asked_.store(true, std::memory_order_release);
    ports_.relay_poller().wake();
    thread_.join();
    ports_.wake_relay(false);
}

void RelayThread::set_target(std::optional<RelayTarget> target, CellNumber cell) {
    if (links_[cell].set_target(std::move(target))) ports_.relay_poller().wake();
}

void RelayThread::ask(std::string question, OwnerLink::OnAnswer answer, CellNumber cell) {
    links_[cell].ask(std::move(question), std::move(answer));
    ports_.relay_poller().wake();
}

bool RelayThread::is_linked() const {
    for (const OwnerLink& link : links_)
        if (!link.is_linked()) return false;
    return true;
}

void RelayThread::run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    name_this_thread("relay");
    while (!stop_asked_.load(std::memory_order_acquire)) {
        try {
            turn();
        } catch (const std::bad_alloc&) {
            for (OwnerLink& link : links_) link.lose("there is no memory for it", clock_.now());
        }
    }
    for (OwnerLink& link : links_) link.end(clock_.now());
    ports_.network().links().flush();
}

void RelayThread::turn() {
    bool is_unread = false;
    for (const OwnerLink& link : links_) is_unread |= link.is_unread();
    const auto events = ports_.relay_poller().wait(is_unread ? Duration{0} : Duration{wait_max});
    const Time now = clock_.now();
    for (const epoll_event& event : events) {
        const ConnectionId name = Poller::name_of(event);
        if (name.slot > 0 && name.slot <= links_.size()) links_[name.slot - 1].reported(event.events);
    }
    for (OwnerLink& link : links_) link.turn(now);
    take_peers();
    for (OwnerLink& link : links_) link.send(now);
    ports_.network().links().flush();
    relays_.flushed();
    std::size_t relayed = 0;
    for (CellNumber cell = 0; cell < relays_.size(); ++cell)
        if (relays_.has_owner(cell)) relayed += relays_.peers_of(cell);
    relayed_.store(relayed, std::memory_order_relaxed);
    unanswered_.store(relays_.unanswered(), std::memory_order_relaxed);
}

void RelayThread::take_peers() {
    for (const Port port : ports) {
        if (!relays_.may_take()) return;
        for (std::size_t i = 0; i < links_.size(); ++i) {
            if (links_[i].is_full()) return;
            to_owners_[i] = links_[i].out();
        }
        if (!ports_.network().inbox(port).take(batch_)) continue;
        relays_.take(batch_, port, to_owners_);
        batch_.clear();
    }
}

}  // namespace muster
