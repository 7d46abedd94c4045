// The node port of a cell's owner: other nodes come here with what their peers say (N-7).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "net/link_worker.h"
#include "net/listener.h"
#include "net/network.h"
#include "net/poller.h"
#include "relay/node_socket.h"
#include "relay/relayed_links.h"
#include "tls/tls_context.h"

namespace muster {

struct NodePortOptions {
    std::string cell = "main";
    std::int64_t term = 0;
    std::function<bool(std::string_view)> is_token{};  // none: nobody has to show one
    std::shared_ptr<const TlsServerContext> tls{};     // null: no TLS
    std::uint32_t generation_before = 0;               // see RelayedLinks
};

// Made and ended by one thread; serves on a thread of its own, `nodes`, between the two. What it is given outlives it.
// To the loop it is one more worker of the network. A stranger is told nothing, logged and closed, and nothing else
// changes; so is a node that says what no node says.
class NodePort final : public LinkWorker {
public:
    // A question of another node's HTTP port; `answer` may be called on any thread, once.
    using Answer = std::function<void(std::string)>;
    using OnQuestion = std::function<void(std::string question, Answer answer)>;

    static constexpr std::size_t links_max = 64;
    static constexpr std::chrono::seconds beat_every{1};
    // A link that says nothing for so long is closed.
    static constexpr std::chrono::seconds silence_max{5};
    // From the connection to the hello.
    static constexpr std::chrono::seconds hello_max{5};
    // What a node may leave unread before its link is closed.
    static constexpr std::size_t unsent_max = std::size_t{128} * 1024 * 1024;

    // `listener` and `poller` outlive it: peers of the port wait in the kernel between two of these.
    NodePort(const Clock& clock, Log& log, Listener& listener, Network& network, Waiter& loop, NodePortOptions options,
             OnQuestion on_question);
    // Closes the links; the loop hears of their peers' end, if it still listens.
    ~NodePort() override;
    NodePort(const NodePort&) = delete;
    NodePort& operator=(const NodePort&) = delete;

    Outbox& outbox() override { return outbox_; }
    void wake() override { poller_.wake(); }

    // Any thread.
    std::size_t relayed() const { return relayed_count_.load(std::memory_order_relaxed); }
    // Any thread: nodes that have told of all the peers that they had when they came.
    std::size_t told() const { return told_count_.load(std::memory_order_acquire); }
    // Ends the thread and says where the next term's generations begin. Once.
    std::uint32_t end();

private:
    struct NodeLink {
        NodeLink(NodeLinkNumber of, NodeSocket with, IpAddress address, Time now)
            : number(of), socket(std::move(with)), from(address), opened(now), heard(now), beaten(now) {}

        NodeLinkNumber number;
        NodeSocket socket;
        IpAddress from;
        Time opened;
        Time heard;
        Time beaten;
        std::string node{};     // empty until its hello was accepted
        bool has_told = false;  // its first beat comes behind all its peers
        bool is_over = false;   // closed once its last words have been tried
    };
    // What other threads answer.
    struct Answers {
        std::mutex mutex;
        bool is_open = true;  // guarded by mutex, as is the next
        std::vector<std::pair<std::pair<NodeLinkNumber, std::int64_t>, std::string>> waiting;
        Poller* poller = nullptr;
    };

    void run();
    void turn();
    bool may_read() const;
    void accept_all(Time now);
    bool make_room(Time now);
    void obey_loop();
    void send_answers();
    void read(NodeLink& link, Time now);
    bool handle(NodeLink& link, const NodeSplit& message, Time now);
    bool welcome(NodeLink& link, std::span<const std::byte> body);
    void ask(NodeLink& link, const NodeQuestion& question);
    void look_after(NodeLink& link, Time now);
    void lose(NodeLink& link, const std::string& why, Time now);
    void tell_loop();
    NodeLink* find(NodeLinkNumber number);

    const Clock& clock_;
    Log& log_;
    Listener& listener_;
    Network& network_;
    Waiter& loop_;
    const NodePortOptions options_;
    const OnQuestion on_question_;

    // Any thread.
    Poller poller_;
    Outbox outbox_;
    std::shared_ptr<Answers> answers_;
    std::atomic<bool> stop_asked_{false};
    std::atomic<std::size_t> relayed_count_{0};
    std::atomic<std::size_t> told_count_{0};

    // The thread's.
    RelayedLinks relayed_;
    RelayedLinks::Batches batches_;
    std::map<NodeLinkNumber, std::unique_ptr<NodeLink>> links_;
    std::uint32_t last_number_ = 0;
    OutboundBatch orders_;

    std::thread thread_;  // last: it uses the others
};

}  // namespace muster
