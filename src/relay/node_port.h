// The node port: other nodes come here with what their peers say to the cells that this node owns.
#pragma once

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
#include "net/listener.h"
#include "net/poller.h"
#include "relay/cell_door.h"
#include "relay/node_socket.h"
#include "tls/tls_context.h"

namespace muster {

struct NodePortOptions {
    std::function<bool(std::string_view)> is_token{};  // none: nobody has to show one
    std::shared_ptr<const TlsServerContext> tls{};     // null: no TLS
};

// Made and ended by one thread; serves on a thread of its own, `nodes`, between the two. Any thread opens and closes
// doors. What it is given outlives it. Each link is for the door of one cell. A stranger is told nothing, logged and
// closed, and nothing else changes; so is a node that says what no node says, or that comes for a cell without a door.
class NodePort {
public:
    // Of all nodes, each with one for each cell that we own.
    static constexpr std::size_t links_max = 1024;
    static constexpr std::chrono::seconds beat_every{1};
    // A link that says nothing for so long is closed.
    static constexpr std::chrono::seconds silence_max{5};
    // From the connection to the hello.
    static constexpr std::chrono::seconds hello_max{5};
    // What a node may leave unread before its link is closed.
    static constexpr std::size_t unsent_max = std::size_t{128} * 1024 * 1024;

    // Peers of the listener wait in the kernel between two of these.
    NodePort(const Clock& clock, Log& log, Listener& listener, NodePortOptions options);
    // Closes the links.
    ~NodePort();
    NodePort(const NodePort&) = delete;
    NodePort& operator=(const NodePort&) = delete;

    // Other nodes may come for this cell from now on. There is one door for a cell.
    CellDoor& open(CellDoorOptions options, CellDoor::Parts parts);
    // Closes the links that came for it, once their last words were tried; the loop hears nothing of it any more. Says
    // where the next term's generations begin.
    std::uint32_t close(CellDoor& door);

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
        std::string node{};        // empty until its hello was accepted
        CellDoor* door = nullptr;  // of the cell that it came for, from then on
        bool has_told = false;     // its first beat comes behind all its peers
        bool is_over = false;      // closed once its last words have been tried
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
    static bool may_read(const NodeLink& link) { return !link.door || link.door->may_read(); }
    void accept_all(Time now);
    bool make_room(Time now);
    void obey_loops();
    void send_answers();
    void read(NodeLink& link, Time now);
    bool handle(NodeLink& link, const NodeSplit& message, Time now);
    bool welcome(NodeLink& link, std::span<const std::byte> body);
    void ask(NodeLink& link, const NodeQuestion& question);
    void look_after(NodeLink& link, Time now);
    void lose(NodeLink& link, const std::string& why, Time now);
    void tell_loops();
    NodeLink* find(NodeLinkNumber number);

    const Clock& clock_;
    Log& log_;
    Listener& listener_;
    const NodePortOptions options_;

    // Any thread.
    Poller poller_;
    std::shared_ptr<Answers> answers_;
    std::atomic<bool> stop_asked_{false};

    // The thread's, for each turn; between turns doors come and go.
    std::mutex turn_mutex_;
    std::map<std::string, std::unique_ptr<CellDoor>> doors_;  // by cell; guarded by turn_mutex_, as are the next two
    std::map<NodeLinkNumber, std::unique_ptr<NodeLink>> links_;
    std::uint32_t last_number_ = 0;
    bool may_accept_ = true;  // somebody may wait at the listener; the thread's

    std::thread thread_;  // last: it uses the others
};

}  // namespace muster
