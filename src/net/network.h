// The three game ports on the network: listeners, workers and their threads, and the queues to and from the loop.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/buffer_budget.h"
#include "net/connection_quota.h"
#include "net/insecure_peer.h"
#include "net/limits.h"
#include "net/links.h"
#include "net/listener.h"
#include "net/net_figures.h"
#include "net/net_worker.h"
#include "net/port_inbox.h"
#include "net/shared_limits.h"
#include "net/shared_tls.h"
#include "net/socket_address.h"
#include "protocol/port.h"
#include "runtime/wakeup.h"

namespace muster {

struct NetworkConfig {
    struct OfPort {
        std::optional<SocketAddress> listen;  // nothing: the port stays shut
        ByteOrder order = ByteOrder::little;
        PortLimits limits;
        // Whether frames come with the kernel's round trip, at most once a second per connection (F-11).
        bool sample_rtt = false;
        PortInbox::Bounds inbox;
        std::shared_ptr<const TlsServerContext> tls;  // null: no TLS
    };

    // Shut, with the limits and byte orders of the specification; only servers are sampled.
    NetworkConfig();
    OfPort& of(Port port) { return by_port[static_cast<std::size_t>(port)]; }
    const OfPort& of(Port port) const { return by_port[static_cast<std::size_t>(port)]; }

    std::array<OfPort, ports.size()> by_port;
    // 0: no thread of its own; the loop's thread does the work while it waits and when it refills.
    std::size_t threads = 1;
    std::size_t total_buffers = default_total_buffers;
    // All connections together: what the process may have open.
    std::uint32_t connections_max = 1U << 20;
    OnInsecurePeer on_insecure_peer;
};

// The thread that makes it is the game thread, unless a line says otherwise.
class Network {
public:
    // How long catch_up() waits for all workers together; less than what the loop would take for a gap (L-8).
    static constexpr std::chrono::milliseconds catch_up_max{500};

    // Opens the listeners, so that their addresses are known; newcomers wait in the kernel until start(). Throws
    // ListenError, or std::system_error when the process may open no more files. Clock and waiter outlive the network.
    Network(const Clock& clock, Waiter& loop, const NetworkConfig& config);
    // Stops.
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    // Where the port listens; nothing when it is shut.
    std::optional<SocketAddress> bound(Port port) const { return bound_[static_cast<std::size_t>(port)]; }

    // What the loop is to wait on, and others to notify: the waiter that was given, or, without threads, one that does
    // the network's work meanwhile.
    Waiter& waiter() { return waiter_; }

    void start();

    // X-3, first step: no newcomer from now on.
    void stop_accepting();
    // X-3, last step: sends what is left, for at most a second, closes everything, and ends the threads. What was
    // not flushed before is not sent. The inboxes still hold how the links ended.
    void stop();

    Links& links() { return links_; }
    PortInbox& inbox(Port port) { return *inboxes_[static_cast<std::size_t>(port)]; }

    // Every worker polls and reads all of its sockets once more; what they hold is in the inboxes when this returns.
    // Does not wait longer than `catch_up_max` for a worker.
    void catch_up();

    // For NetSource: true for the first one, which does the network's work that is due once per pass.
    bool claim_first_source() { return !std::exchange(has_source_, true); }
    // Another loop may make its sources now.
    void forget_sources() { has_source_ = false; }

    // Whoever serves links that are not sockets of ours, numbered after those of our workers; null: nobody any more. It
    // is woken as the workers are.
    void set_node_worker(LinkWorker* worker);
    std::size_t node_worker_number() const { return workers_.size(); }

    // Without threads: does what there is to do, unless the wait that just ended did.
    void turn_without_thread();

    // Any thread.
    void set_limits(Port port, const PortLimits& limits) { limits_.set(port, limits); }
    // For links that are new; only for a port that had TLS from the start. Links of peers that it calls revoked close.
    void set_tls(Port port, std::shared_ptr<const TlsServerContext> context);
    void set_total_buffers(std::size_t bytes_max) { budget_.set_max(bytes_max); }
    const NetFigures& figures() const { return figures_; }
    // Whom a limit turned away last; none when nobody was.
    std::optional<IpAddress> last_refused(Port port, AcceptRefusal why) const { return quota_.last_refused(port, why); }
    std::size_t buffered_bytes() const { return budget_.used(); }

private:
    // Waits by doing the network's work.
    class WorkingWaiter final : public Waiter {
    public:
        explicit WorkingWaiter(Network& network) : network_(network) {}
        void wait_until(std::optional<Time> deadline) override;
        void notify() override { network_.workers_.front()->wake(); }

    private:
        Network& network_;
    };

    using Inboxes = std::array<std::unique_ptr<PortInbox>, ports.size()>;
    Inboxes make_inboxes(const NetworkConfig& config);
    NetShared make_shared(const NetworkConfig& config);
    std::vector<std::unique_ptr<NetWorker>> make_workers(std::size_t threads);
    std::vector<NetWorker*> worker_pointers() const;
    std::vector<LinkWorker*> link_workers() const;
    void open_listeners(const NetworkConfig& config);
    void wake_workers();
    bool has_threads() const { return threads_wanted_ > 0; }

    const Clock& clock_;
    const std::size_t threads_wanted_;
    WorkingWaiter working_waiter_{*this};
    Waiter& waiter_;

    // Any thread.
    ConnectionQuota quota_;
    BufferBudget budget_;
    SharedLimits limits_;
    SharedTls tls_;
    NetFigures figures_;
    Inboxes inboxes_;
    NetShared shared_;
    std::vector<std::unique_ptr<NetWorker>> workers_;
    std::atomic<LinkWorker*> node_worker_{nullptr};

    // The game thread.
    Links links_;
    std::array<std::optional<SocketAddress>, ports.size()> bound_;
    std::vector<Listener> listeners_;  // until the start
    std::vector<std::thread> threads_;
    bool started_ = false;
    bool stopped_ = false;
    bool has_source_ = false;
    bool turned_in_wait_ = false;
};

}  // namespace muster
