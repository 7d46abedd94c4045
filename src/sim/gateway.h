// Muster's network threads under virtual time: workers that accept, read and give the loop what they read, port by
// port.
//
// Slots, generations and inboxes are net's own classes. What is simulated is the sockets, and when a worker has its
// turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/random.h"
#include "base/time.h"
#include "net/connection_slots.h"
#include "net/port_inbox.h"
#include "protocol/port.h"
#include "sim/id_map.h"
#include "sim/network.h"
#include "sim/scenario.h"

namespace muster::sim {

// One thread. All it is given outlives it.
class Gateway {
public:
    Gateway(const Clock& clock, Network& network, const GatewayConditions& conditions, Random random);

    // What happens to sockets. It lies in the kernel until their worker has its turn.
    void accepted(LinkNumber link, Port port, const IpAddress& peer);
    void bytes(LinkNumber link, std::span<const std::byte> bytes);
    void ended(LinkNumber link);
    // All that was sent has left.
    void drained(LinkNumber link);
    void handshake_deadline(LinkNumber link);
    // Of the frame that had begun to arrive.
    struct Begun {
        LinkNumber link = 0;
        std::uint64_t whole_frames = 0;  // of the link, before it
    };
    void frame_deadline(const Begun& begun);
    // Frames that the workers found begun and not whole, since the last call: their deadlines run from now on.
    std::vector<Begun> take_begun() { return std::exchange(begun_, {}); }

    // For NetSource, as Network has them.
    PortInbox& inbox(Port port) { return *inboxes_[static_cast<std::size_t>(port)]; }
    bool claim_first_source() { return !std::exchange(has_source_, true); }
    void turn_without_thread();
    void catch_up();
    // A worker has something to read, or to tell.
    bool has_something() const;

    // The game thread's calls. 0 for a connection whose end the loop has heard of.
    LinkNumber link_of(ConnectionId id) const;
    // The loop has heard of its end.
    void forget(ConnectionId id) { names_.erase(key(id)); }
    void greeted(LinkNumber link);
    // Nothing more is read of it.
    void close(LinkNumber link);
    void send(LinkNumber link, std::vector<std::byte> frames);
    void report_drained(LinkNumber link);

    // Links cut because they left too much unread.
    std::uint64_t slow_readers() const { return slow_readers_; }
    // One of them, cut although its peer read all that came; 0: none.
    LinkNumber cut_while_reading() const { return cut_while_reading_; }

private:
    enum class What : std::uint8_t { accepted, bytes, ended, drained, handshake_deadline, frame_deadline };
    struct Arrival {
        What what = What::bytes;
        LinkNumber link = 0;
    };
    struct Socket {
        ConnectionId id;  // once its worker has let it in
        Port port = Port::servers;
        IpAddress peer;
        std::uint8_t worker = 0;
        bool greeted = false;
        bool deaf = false;    // broken frames, or closing: nothing more is read
        bool listed = false;  // its bytes are among the arrivals
        std::vector<std::byte> unread;
        std::uint64_t whole_frames = 0;
        bool begun = false;  // the next frame has its deadline
    };
    struct Worker {
        explicit Worker(std::size_t number) : slots(number) {}
        ConnectionSlots slots;
        std::vector<Arrival> arrivals;
        std::vector<Arrival> handling;  // empty between turns
        std::array<InboundBatch, ports.size()> batches;
    };

    static std::uint64_t key(ConnectionId id) { return std::uint64_t{id.slot} << 32 | id.generation; }
    Socket* find(LinkNumber link);
    void arrive(LinkNumber link, What what);
    void turn(Worker& worker);
    bool handle(Worker& worker, const Arrival& arrival);
    void let_in(Worker& worker, LinkNumber link, Socket& socket);
    void read(InboundBatch& batch, LinkNumber link, Socket& socket);
    void remove(Worker& worker, LinkNumber link, Socket& socket);
    // Whose list of free slots it comes from.
    Port slots_of(Port port) const { return conditions_.slots_shared ? Port::servers : port; }

    const Clock& clock_;
    Network& network_;
    const GatewayConditions conditions_;
    Random random_;
    std::array<std::unique_ptr<PortInbox>, ports.size()> inboxes_;
    std::vector<Worker> workers_;
    IdMap<LinkNumber, Socket> sockets_;
    std::unordered_map<std::uint64_t, LinkNumber> names_;  // by connection, until the loop has heard of its end
    std::vector<Begun> begun_;
    std::size_t next_worker_ = 0;
    bool has_source_ = false;
    std::uint64_t slow_readers_ = 0;
    LinkNumber cut_while_reading_ = 0;
};

}  // namespace muster::sim
