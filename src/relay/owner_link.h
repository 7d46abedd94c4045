// The link of this node to the owner of one cell: made, greeted, kept alive, and made again.
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
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/log.h"
#include "base/time.h"
#include "net/poller.h"
#include "relay/cell_relays.h"
#include "relay/node_message.h"
#include "relay/node_socket.h"
#include "tls/tls_context.h"

namespace muster {

// Who owns the cell, and where its node port is.
struct RelayTarget {
    std::string node{};
    std::string address{};  // a host and a port
    std::int64_t term = 0;
    std::string near_by{};  // where it is connected to instead, if it is this node
    friend bool operator==(const RelayTarget&, const RelayTarget&) = default;
};

// How this node shows who it is.
struct OwnerLinkOptions {
    std::string node{};
    std::string token{};
    std::shared_ptr<const TlsClientContext> tls{};  // null: no TLS
};

// One thread, unless a line says otherwise. What it is given outlives it.
class OwnerLink {
public:
    static constexpr std::chrono::milliseconds retry_after{100};
    static constexpr std::chrono::seconds hello_max{3};
    static constexpr std::chrono::seconds beat_every{1};
    static constexpr std::chrono::seconds silence_max{5};
    // When so much waits for the owner, peers are not read (B-1).
    static constexpr std::size_t unsent_max = std::size_t{8} * 1024 * 1024;
    static constexpr std::size_t questions_max = 1024;

    // Its sockets are reported by the poller under name().
    OwnerLink(Log& log, Poller& poller, CellRelays& relays, CellNumber cell, const OwnerLinkOptions& options)
        : log_(log), poller_(poller), relays_(relays), cell_(cell), options_(options) {}

    ConnectionId name() const { return {static_cast<std::uint32_t>(cell_ + 1), 1}; }
    void reported(std::uint32_t events) {
        if (socket_) socket_->reported(events);
    }
    bool is_unread() const { return socket_ && socket_->is_unread(); }
    bool is_full() const { return socket_ && socket_->unsent() > unsent_max; }
    // What the owner is to be sent; null while there is none.
    std::vector<std::byte>* out() { return relays_.has_owner(cell_) ? &socket_->out() : nullptr; }

    // Follows the target, and reads what has come.
    void turn(Time now);
    // Sends what there is.
    void send(Time now);
    void lose(const std::string& why, Time now);
    // No question is answered any more.
    void end(Time now);

    // Any thread. True when it is news. Nobody: peers wait.
    bool set_target(std::optional<RelayTarget> target);
    // Any thread. `answer` is called once, on any thread: with nothing when there is no owner, or it was lost
    // meanwhile.
    using OnAnswer = std::function<void(std::optional<std::string>)>;
    void ask(std::string question, OnAnswer answer);
    // Any thread: an owner has welcomed us.
    bool is_linked() const { return is_linked_.load(std::memory_order_acquire); }

private:
    struct Question {
        std::string bytes;
        OnAnswer answer;
    };

    void follow_target(Time now);
    void connect(Time now);
    void read(Time now);
    bool handle(const NodeSplit& message, Time now);
    void welcomed();
    void send_questions();

    Log& log_;
    Poller& poller_;
    CellRelays& relays_;
    const CellNumber cell_;
    const OwnerLinkOptions& options_;

    // Any thread.
    std::mutex mutex_;
    std::optional<RelayTarget> wanted_;  // guarded by mutex_, as are the next two
    std::vector<Question> questions_;
    bool is_over_ = false;
    std::atomic<bool> is_linked_{false};

    // The thread's.
    std::optional<RelayTarget> target_;
    std::optional<NodeSocket> socket_;
    Time linked_at_{};
    Time heard_{};
    Time beaten_{};
    Time next_try_{};
    std::string last_problem_;
    std::int64_t last_question_ = 0;
    std::unordered_map<std::int64_t, OnAnswer> asked_;
};

}  // namespace muster
