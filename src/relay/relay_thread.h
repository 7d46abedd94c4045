// A node that stands by, at work: it serves the game ports by relaying to the owner (N-7).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "relay/game_ports.h"
#include "relay/node_message.h"
#include "relay/node_socket.h"
#include "relay/relay.h"
#include "tls/tls_context.h"

namespace muster {

// Who owns the cell, and where its node port is.
struct RelayTarget {
    std::string node{};
    std::string address{};  // a host and a port
    std::int64_t term = 0;
    friend bool operator==(const RelayTarget&, const RelayTarget&) = default;
};

struct RelayOptions {
    std::string cell = "main";
    std::string node{};
    std::string token{};
    std::shared_ptr<const TlsClientContext> tls{};  // null: no TLS
};

// Made and ended by one thread; works on a thread of its own, `relay`, between the two. While it lives it serves the
// ports. What it is given outlives it.
class RelayThread {
public:
    static constexpr std::chrono::milliseconds retry_after{100};
    static constexpr std::chrono::seconds hello_max{3};
    static constexpr std::chrono::seconds beat_every{1};
    static constexpr std::chrono::seconds silence_max{5};
    // When so much waits for the owner, peers are not read (B-1).
    static constexpr std::size_t unsent_max = std::size_t{8} * 1024 * 1024;
    static constexpr std::size_t questions_max = 1024;

    RelayThread(const Clock& clock, Log& log, GamePorts& ports, RelayOptions options);
    ~RelayThread();
    RelayThread(const RelayThread&) = delete;
    RelayThread& operator=(const RelayThread&) = delete;

    // Any thread. Nobody: peers wait.
    void set_target(std::optional<RelayTarget> target);
    // Any thread. `answer` is called once, on any thread: with nothing when there is no owner, or it was lost
    // meanwhile.
    using OnAnswer = std::function<void(std::optional<std::string>)>;
    void ask(std::string question, OnAnswer answer);
    // An owner has welcomed us.
    bool is_linked() const { return is_linked_.load(std::memory_order_acquire); }
    // Peers that it is told of.
    std::size_t relayed() const { return relayed_.load(std::memory_order_relaxed); }
    // What peers asked and nobody answered yet.
    std::size_t unanswered() const { return unanswered_.load(std::memory_order_relaxed); }

private:
    class ToLinks final : public PeerOutput {
    public:
        explicit ToLinks(Links& links) : links_(links) {}
        void send(ConnectionId to, std::span<const std::byte> frame) override { links_.send(to, frame); }
        void greeted(ConnectionId link) override { links_.greeted(link); }
        void report_drained(ConnectionId link) override { links_.report_drained(link); }
        void close(ConnectionId link) override { links_.close_after_flush(link); }
        void cut(ConnectionId link) override { links_.cut(link); }
        ByteOrder order_of(Port port) const override { return links_.order_of(port); }

    private:
        Links& links_;
    };
    struct Question {
        std::string bytes;
        OnAnswer answer;
    };

    void run();
    void turn();
    void follow_target(Time now);
    void connect(Time now);
    void read(Time now);
    bool handle(const NodeSplit& message, Time now);
    void take_peers();
    void send_questions();
    void look_after(Time now);
    void lose(const std::string& why, Time now);

    const Clock& clock_;
    Log& log_;
    GamePorts& ports_;
    const RelayOptions options_;

    // Any thread.
    std::mutex mutex_;
    std::optional<RelayTarget> wanted_;  // guarded by mutex_, as is the next
    std::vector<Question> questions_;
    std::atomic<bool> stop_asked_{false};
    std::atomic<bool> is_linked_{false};
    std::atomic<std::size_t> relayed_{0};
    std::atomic<std::size_t> unanswered_{0};

    // The thread's.
    ToLinks to_links_;
    Relay relay_;
    std::optional<RelayTarget> target_;
    std::optional<NodeSocket> link_;
    Time linked_at_{};
    Time heard_{};
    Time beaten_{};
    Time next_try_{};
    std::string last_problem_;
    std::int64_t last_question_ = 0;
    std::unordered_map<std::int64_t, OnAnswer> asked_;
    InboundBatch batch_;

    std::thread thread_;  // last: it uses the others
};

}  // namespace muster
