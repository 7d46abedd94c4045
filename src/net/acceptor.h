// A listening port as the worker that accepts sees it.
#pragma once

#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>

#include "base/time.h"
#include "net/connection_quota.h"
#include "net/listener.h"
#include "net/worker_port.h"

namespace muster {

// The worker's thread only.
class Acceptor {
public:
    // Newcomers let in by one turn.
    static constexpr std::size_t newcomers_max = 256;
    // How long accepting rests when the machine has no file or memory for a newcomer (fault 9).
    static constexpr Duration rest = std::chrono::milliseconds(100);

    explicit Acceptor(Listener listener) : listener_(std::move(listener)) {}

    const Listener& listener() const { return listener_; }

    // Somebody may be waiting.
    void reported() { reported_ = true; }

    // Somebody may be waiting and can be let in now.
    bool wants_attention(Time running) const { return reported_ && (!rest_until_ || *rest_until_ <= running); }
    // When to look again, if it rests.
    std::optional<Time> rest_until() const { return rest_until_; }

    // There was no file or memory for a newcomer. Counted; accepting rests a little.
    void exhausted(WorkerPort& worker_port, Time running) {
        worker_port.figures.accept_errors.add();
        rest_until_ = running + rest;
    }

    // Calls let_in(AcceptedSocket) for each newcomer that the quota has room for, which counts it; closes the others.
    // make_room(IpAddress, AcceptRefusal) may make room for one that was refused, and says whether it did.
    template <class LetIn, class MakeRoom>
    void accept_all(WorkerPort& worker_port, ConnectionQuota& quota, Time running, LetIn let_in, MakeRoom make_room) {
        rest_until_.reset();
        for (std::size_t i = 0; i < newcomers_max && !rest_until_; ++i) {
            AcceptedSocket newcomer;
            switch (listener_.accept(newcomer)) {
                case Listener::Outcome::none:
                    reported_ = false;
                    return;
                case Listener::Outcome::gone:
                    continue;
                case Listener::Outcome::exhausted:
                    return exhausted(worker_port, running);
                case Listener::Outcome::accepted:
                    break;
            }
            try {
                const auto take = [&] {
                    return quota.take(worker_port.port, newcomer.from, worker_port.limits(), running);
                };
                auto refusal = take();
                if (refusal && make_room(newcomer.from, *refusal)) refusal = take();
                if (refusal) {
                    worker_port.figures.refused[*refusal].add();
                    continue;
                }
            } catch (const std::bad_alloc&) {
                return exhausted(worker_port, running);
            }
            let_in(std::move(newcomer));
        }
    }

private:
    Listener listener_;
    bool reported_ = true;
    std::optional<Time> rest_until_;
};

}  // namespace muster
