// The connections core talks over, and the order in which answers leave them (W-8).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/function.h"
#include "base/ids.h"
#include "base/ip_address.h"
#include "base/short_time.h"
#include "core/link_output.h"
#include "protocol/codec.h"
#include "protocol/port.h"
#include "runtime/loop_time.h"

namespace muster {

// A deadline of a peer whose link is not read (B-1) is looked at again after so long at the soonest.
inline constexpr Duration unread_look_every = std::chrono::seconds(1);

// Connections of this worker are no sockets but links inside our own process, such as the HTTP API's. Many ask over one
// of them, and none waits for another: answers leave as they come.
inline constexpr std::uint32_t inside_worker = 255;
inline constexpr ConnectionId inside_link(std::uint32_t slot) {
    return {inside_worker << 24 | slot, 1};
}
inline constexpr bool is_inside(ConnectionId link) {
    return link.slot >> 24 == inside_worker;
}

// An answer's place in the order of its link. It may outlive the link: answering then does nothing.
struct Ticket {
    ConnectionId link;
    std::uint32_t number = 0;  // counts round; 0 on a link inside our own process
    Time asked{};              // when it was taken
};

// One connection as core sees it.
struct Link {
    struct Waiting {
        bool filled = false;
        LobbyId lobby;  // of an allocation's answer, else 0
        std::vector<std::byte> frame;
        Time good_until = Time::max();
        std::vector<std::byte> otherwise{};  // leaves in its place from then on
    };

    ConnectionId id;
    // Answers that must wait, for their own outcome or for one before them. None for most links most of the time.
    std::unique_ptr<std::deque<Waiting>> waiting;
    std::uint32_t next_ticket = 1;  // the number that the next answer gets
    std::int32_t who = 0;           // the server's id, the matchmaker's number or the session's place, once greeted
    ShortTime opened;               // in running time
    IpAddress peer;
    Port port = Port::servers;
    bool open : 1 = false;  // if not, `id` is the last connection that its slot had
    bool greeted : 1 = false;
    bool closing : 1 = false;  // we have said our last word; whatever still comes is not heard
    bool paused : 1 = false;   // Muster does not read it (B-1)
};
static_assert(sizeof(Link) == 48);

// Game thread only.
//
// A slot is used by one connection after another, with growing generations. The network's threads may report the end of
// one after the beginning of the next: whatever a report's generation says is older than what is known already changes
// nothing.
class LinkTable {
public:
    // Hears that the answer to an allocation has been sent, or, when it had waited for too long, the other one.
    using AnswerLeft = Function<void(LobbyId, bool in_time)>;

    // `order` is each port's byte order. The time outlives the table.
    LinkTable(const LoopTime& time, LinkOutput& output, std::array<ByteOrder, 3> order, AnswerLeft answer_left);

    // Null, and nothing changed, for a connection that its slot has seen end already, or that is open already. An older
    // one that is still open in its slot must have been closed.
    Link* opened(ConnectionId id, Port port, const IpAddress& peer);
    // False when it was not open. Its opened() comes to nothing from now on.
    bool closed(ConnectionId id);
    // Null for a connection that is gone.
    Link* find(ConnectionId id);
    // The connection that is still open in the slot of this newer one, and must be gone therefore; or null.
    Link* outlived_by(ConnectionId newer);
    std::size_t size() const { return size_; }
    ByteOrder order(Port port) const { return order_[static_cast<std::size_t>(port)]; }

    // Sends at once, before answers that wait: for acks, pings, offers and events.
    template <class M>
    void send(ConnectionId to, const M& message) {
        Link* link = find(to);
        if (!link || link->closing) return;
        scratch_.clear();
        encode(message, order(M::port), scratch_);
        output_.send(to, scratch_);
    }

    // Sends one frame, encoded already, to many.
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) {
        output_.send_to_all(to, frame);
    }

    // Takes the next place in the link's order of answers.
    Ticket take_ticket(Link& link);

    // Fills the answer of a ticket; it leaves when all before it have left.
    template <class M>
    void answer(const Ticket& ticket, const M& message, LobbyId lobby = {}) {
        Link* link = find(ticket.link);
        if (!link || link->closing) return;
        scratch_.clear();
        encode(message, order(M::port), scratch_);
        fill(*link, ticket, lobby);
    }
    // The same for an answer that is good for a while only: when those before it hold it back for longer, `otherwise`
    // leaves in its place.
    template <class M>
    void answer_until(const Ticket& ticket, Time good_until, const M& message, const M& otherwise, LobbyId lobby) {
        answer(ticket, message, lobby);
        if (Link::Waiting* waiting = still_waiting(ticket)) {
            waiting->good_until = good_until;
            encode(otherwise, order(M::port), waiting->otherwise);
        }
    }
    // An answer that is known at once.
    template <class M>
    void answer(Link& link, const M& message, LobbyId lobby = {}) {
        if (link.waiting && !link.waiting->empty()) return answer(take_ticket(link), message, lobby);
        ++link.next_ticket;
        send(link.id, message);
        if (lobby.value != 0) answer_left_(lobby, true);
    }

    void greeted(Link& link);
    // Muster does not read it from now on; and does again, since when it had not. In running time (B-1).
    void pause(Link& link, Time running);
    Time resume(Link& link);
    Time paused_since(const Link& link) const { return paused_.at(link.id.slot); }
    // Closes after what was sent; answers that still wait are dropped.
    void close(Link& link);
    // Says and hears nothing more, but stays open until close_held() says its last word.
    void hold(Link& link);
    void close_held(ConnectionId id, std::span<const std::byte> frame);
    // Sends a frame that is encoded already, and closes: the last word to a peer that broke the protocol.
    void close_with(Link& link, std::span<const std::byte> frame);

    // Calls visit(link) for each connection.
    template <class Visit>
    void for_each(Visit visit) {
        for (auto& worker : slots_) {
            for (Link& link : worker) {
                if (link.open) visit(link);
            }
        }
    }

private:
    Link* in_slot_of(ConnectionId id);
    Link& make_slot_of(ConnectionId id);
    void fill(Link& link, const Ticket& ticket, LobbyId lobby);
    void send_scratch(Link& link, LobbyId lobby);
    void release(Link& link);
    Link::Waiting* still_waiting(const Ticket& ticket);

    const LoopTime& time_;
    LinkOutput& output_;
    std::array<ByteOrder, 3> order_;
    AnswerLeft answer_left_;
    // By the connection's slot: its upper eight bits name the network worker, the rest count from 0.
    std::vector<std::vector<Link>> slots_;
    std::size_t size_ = 0;
    std::map<std::uint32_t, Time> paused_;  // by slot; few at a time
    std::vector<std::byte> scratch_;
};

}  // namespace muster
