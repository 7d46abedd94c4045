// A network of TCP links under virtual time: late, in pieces, cut, half open, but in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ip_address.h"
#include "base/random.h"
#include "base/time.h"
#include "protocol/port.h"
#include "sim/agenda.h"
#include "sim/scenario.h"
#include "sim/stable_array.h"

namespace muster::sim {

// A connection, over the whole simulation; 0 names none. Muster's own ConnectionIds begin anew with each of its runs.
using LinkNumber = std::uint32_t;

// An actor's end of its links.
class Peer {
public:
    virtual ~Peer() = default;
    // A whole frame has arrived.
    virtual void frame(LinkNumber link, Code code, std::span<const std::byte> payload) = 0;
    // Refused, closed or reset. Nothing more comes of it.
    virtual void link_down(LinkNumber link) = 0;
};

// Muster's end of all links.
class Listener {
public:
    virtual ~Listener() = default;
    // False refuses the connection.
    virtual bool accept(LinkNumber link, Port port, const IpAddress& peer) = 0;
    virtual void bytes(LinkNumber link, std::span<const std::byte> bytes) = 0;
    // Closed by its peer, reset, or found dead.
    virtual void ended(LinkNumber link) = 0;
    // What was sent has left Muster's process, as report_drained() asked.
    virtual void drained(LinkNumber link) = 0;
};

// Which way of a link loses all that is sent on it.
enum class Way : std::uint8_t { both, to_muster, to_peer };

// One thread. Peers and the listener outlive the network.
class Network {
public:
    Network(Agenda& agenda, Random random, const NetworkConditions& conditions)
        : agenda_(agenda), random_(random), conditions_(conditions) {}

    // Null while nobody listens: connections are refused.
    void listen(Listener* listener) { listener_ = listener; }
    void set_conditions(const NetworkConditions& conditions) { conditions_ = conditions; }

    // A peer's calls. What it sends before it is accepted follows once it is.
    LinkNumber connect(Peer& peer, Port port, const IpAddress& ip);
    void send(LinkNumber link, std::vector<std::byte> bytes);
    // Closes after what was sent.
    void close(LinkNumber number);
    // Forgets the link without a word: Muster finds out by itself, in its time.
    void abandon(LinkNumber number);

    // Muster's calls.
    void send_to_peer(LinkNumber link, std::vector<std::byte> bytes);
    void close_to_peer(LinkNumber number);
    // Ends the link at once, at both ends.
    void cut(LinkNumber number);
    // Bytes that the kernel has no room for, since the peer has not read what came before.
    std::size_t unsent(LinkNumber link) const;
    // The peer reads, and nothing holds up what is on its way.
    bool reads(LinkNumber number) const;
    // Listener::drained() is called when nothing is unsent.
    void report_drained(LinkNumber link);
    // Muster's process is gone, and all its links with it. With the machine's power, some peers hear nothing of it.
    enum class Gone : std::uint8_t { process, maybe_power };
    void drop_all(Gone gone);

    // Faults. What is in flight is lost by a reset, and arrives in spite of a loss that begins later.
    void reset(LinkNumber number);
    void lose(LinkNumber number, Way way);
    // The peer reads nothing for so long.
    void stop_reading(LinkNumber number, Duration by);
    // Links that lose what is sent on them are found dead at once: the network works again.
    void heal();

    // Links of which one direction was lost, so far.
    std::uint64_t lost_one_way() const { return lost_one_way_; }

    bool open(LinkNumber link) const;
    // All links that both ends hold.
    std::vector<LinkNumber> open_links();
    Port port(LinkNumber link) const { return at(link).port; }

private:
    struct Lane {
        Time arrives{};           // the latest arrival so far: nothing overtakes
        std::uint32_t reset = 0;  // how often what was in flight was lost
        bool lost = false;
    };
    struct Link {
        Peer* peer = nullptr;
        Port port = Port::servers;
        IpAddress ip;
        Duration latency{0};
        Lane to_muster;
        Lane to_peer;
        bool peer_open = true;
        bool connecting = true;
        bool muster_open = false;
        bool tell_drained = false;
        std::size_t to_peer_bytes = 0;   // sent by Muster, and not read yet
        Time reads_from{};               // nothing is read before
        std::vector<std::byte> arrived;  // at the peer, less than a frame

        bool over() const { return !connecting && !peer_open && !muster_open; }
    };

    Link& at(LinkNumber link) { return links_[link - 1]; }
    const Link& at(LinkNumber link) const { return links_[link - 1]; }
    // The links that are not over at both ends, in the order in which they were made.
    const std::vector<LinkNumber>& live();
    void put_on_lane(LinkNumber number, bool to_muster, std::vector<std::byte> bytes);
    void deliver(LinkNumber number, bool to_muster, std::uint32_t reset, const std::vector<std::byte>& bytes);
    std::size_t deliver_frames(LinkNumber number, std::span<const std::byte> bytes);
    Time next_arrival(const Link& link, Lane& lane);
    Duration delay(const Link& link);
    void end_at_muster(LinkNumber number, Time when);
    void end_at_peer(LinkNumber number, Time when);
    void find_dead(LinkNumber number, Duration after);
    void tell_if_drained(LinkNumber number);

    Agenda& agenda_;
    Random random_;
    NetworkConditions conditions_;
    Listener* listener_ = nullptr;
    StableArray<Link> links_;
    std::uint64_t lost_one_way_ = 0;
    std::vector<LinkNumber> live_;  // ascending; some may be over at both ends by now
};

}  // namespace muster::sim
