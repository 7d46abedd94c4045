// A network thread's body: reads its connections, sends what the loop has for them, accepts new ones.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/function.h"
#include "base/inbox.h"
#include "base/time.h"
#include "net/acceptor.h"
#include "net/buffer_budget.h"
#include "net/catch_up_request.h"
#include "net/connection_quota.h"
#include "net/handshakes_under_way.h"
#include "net/insecure_peer.h"
#include "net/link_keeper.h"
#include "net/link_orders.h"
#include "net/link_reader.h"
#include "net/link_worker.h"
#include "net/net_figures.h"
#include "net/outbox.h"
#include "net/poller.h"
#include "net/port_inbox.h"
#include "net/shared_limits.h"
#include "net/shared_tls.h"
#include "net/worker_port.h"
#include "runtime/wakeup.h"
#include "runtime/work_stretch.h"

namespace muster {

// What all workers of a network have in common. Outlives them.
struct NetShared {
    struct OfPort {
        ByteOrder order = ByteOrder::little;
        bool sample_rtt = false;
        PortInbox* inbox = nullptr;
    };

    const Clock& clock;
    // Notified once per turn that told the loop something.
    Waiter& loop;
    ConnectionQuota& quota;
    BufferBudget& budget;
    SharedLimits& limits;
    NetFigures& figures;
    SharedTls& tls;
    OnInsecurePeer on_insecure_peer;
    std::array<OfPort, ports.size()> by_port;
    // Of one worker.
    std::size_t handshakes_at_once = HandshakesUnderWay::default_at_once;
    // Each worker has one. Otherwise there is one worker, and the loop's thread makes its turns.
    bool own_threads = true;
};

// do_work() is called by one thread at a time; the rest says who may call it.
//
// A turn: wait, then send what the loop has, accept, read every link that has something once, judge deadlines, and tell
// the loop all of it at once. The clock is read before and after the wait: what the wait took too long, and what the
// work between two waits took longer than the thread's CPU time, is no time that counts against a peer (L-8).
class NetWorker final : public LinkWorker {
public:
    // A wait that ends later than planned by more than this, or work that takes longer by so much, is a gap in which
    // the process was stopped.
    static constexpr Duration gap_least = WorkStretch::gap_least;
    // The longest wait, so that a gap is seen even when nothing is due.
    static constexpr Duration wait_max = std::chrono::seconds(1);
    // How long all closes together may take at the end.
    static constexpr Duration stop_max = std::chrono::seconds(1);
    // TLS handshakes that one turn goes on with. They are the only thing here that takes long, and links that are up
    // must not wait for many of them (fault 75).
    static constexpr std::size_t handshakes_per_turn = 16;
    // How many of those may be the first step of theirs. Each has one more to come: so when a whole fleet arrives at
    // once (fault 28), those that were begun are finished before others are begun.
    static constexpr std::size_t first_steps_per_turn = handshakes_per_turn / 2;
    // And how many are, if they wait: peers that were begun cannot keep others from it, whatever they send.
    static constexpr std::size_t first_steps_least = 2;

    NetWorker(std::size_t number, NetShared& shared);

    // Before the first turn. This worker accepts for these, and hands newcomers to all of `workers` in turn, itself
    // among them.
    void listen(std::vector<Listener> listeners, std::vector<NetWorker*> workers);

    // One turn, with a wait of at most `wait` (as long as nothing happens, when there is none).
    void do_work(std::optional<Duration> wait);

    void wake() override { poller_.wake(); }
    Outbox& outbox() override { return outbox_; }
    // Without a thread of its own, sends at once.
    void outbox_filled() override;

    // Any thread. False, and the newcomer untouched, when too many wait to be taken over. Its share of the quota is
    // counted already.
    bool take_over(AcceptedSocket&& newcomer, Port port);

    // Any thread. The listeners are closed in the next turn.
    void stop_accepting();

    // Any thread. Closes everything after sending what is left, for at most `stop_max`; then is_stopped().
    void stop();
    bool is_stopped() const { return stopped_.load(std::memory_order_acquire); }

    // Any other thread: looks at all sockets once more and tells the loop, see CatchUpRequest.
    CatchUpRequest& catch_up() { return catch_up_; }

    // How often a thread found this one asleep and had to wake it.
    std::uint64_t wakes() const { return poller_.wakes(); }

private:
    struct Newcomer {
        AcceptedSocket socket;
        Port port{};
    };

    Duration gap(Duration stood_still);
    Duration next_wait(std::optional<Duration> wait, Time running) const;
    void sort_events(std::span<const epoll_event> events);
    void take_new_limits();
    void take_new_tls();
    void obey_stop();
    void let_newcomers_in();
    bool let_in(AcceptedSocket&& newcomer, Port port);
    void read_ready();
    bool read_link(Connection& link, WorkerPort& worker_port);
    bool read_frames(Connection& link, WorkerPort& worker_port);
    bool secure_link(Connection& link, WorkerPort& worker_port);
    void begin_handshakes();
    bool is_under_way(ConnectionId link);
    bool begin_next_handshake(WorkerPort& worker_port);
    bool take_handshake_step(Connection& link, WorkerPort& worker_port);
    bool send_answer(Connection& link, WorkerPort& worker_port);
    bool tell_loop();

    NetShared& shared_;

    // Any thread.
    Poller poller_;
    Outbox outbox_;
    Inbox<Newcomer> arrivals_;
    CatchUpRequest catch_up_;
    std::atomic<bool> accepting_{true};
    std::atomic<bool> stop_asked_{false};
    std::atomic<bool> stopped_{false};

    // The turning thread only.
    TurnTime at_;
    WorkStretch work_;
    std::array<WorkerPort, ports.size()> ports_;
    LinkKeeper links_;
    LinkOrders orders_;
    LinkReader reader_;
    std::vector<Acceptor> acceptors_;
    std::vector<NetWorker*> workers_;
    std::size_t next_worker_ = 0;
    std::uint64_t limits_version_ = 0;
    std::uint64_t tls_version_ = 0;
    std::size_t handshakes_left_ = 0;  // of this turn
    HandshakesUnderWay under_way_;
    std::size_t first_port_ = 0;  // whose newcomers come first
    std::optional<Time> stop_until_;
    bool out_of_memory_ = false;  // something waits until there is memory for it
    std::vector<Newcomer> taken_over_;
};

}  // namespace muster
