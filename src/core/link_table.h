// The connections core talks over.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_buffer.h"
#include "base/ids.h"
#include "base/ip_address.h"
#include "base/short_time.h"
#include "protocol/codec.h"
#include "protocol/link_output.h"
#include "protocol/port.h"

namespace muster {

// The deadline of a peer whose link is not read (B-1) is checked again at this interval.
inline constexpr Duration unread_look_every = std::chrono::seconds(1);

// A host that has a link, or had one lately.
using HostNumber = Id<struct HostTag, std::int32_t>;

// One connection as core sees it.
struct Link {
    ConnectionId id;
    std::uint32_t owner = 0;  // read and written by the functions below
    ShortTime opened;         // in running time
    IpAddress peer;
    Port port = Port::servers;
    bool open : 1 = false;  // if not, `id` is the last connection that its slot had
    bool greeted : 1 = false;
    bool closing : 1 = false;  // we have said our last word; whatever still comes is not heard
    bool paused : 1 = false;   // Muster does not read it
    bool host : 1 = false;     // of the server port: it speaks for a host, not for a game server
    bool proven : 1 = false;   // the peer's certificate says who it is: see LinkTable::proven_name()

    // Whom it speaks for, once greeted. The link of another port speaks for none of that kind.
    ServerId server() const { return ServerId(port == Port::servers && !host ? static_cast<std::int32_t>(owner) : 0); }
    HostNumber host_number() const { return HostNumber(host ? static_cast<std::int32_t>(owner) : 0); }
    MatchmakerNumber matchmaker() const {
        return MatchmakerNumber(port == Port::matchmakers ? static_cast<std::int32_t>(owner) : 0);
    }
    SessionPlace session() const { return SessionPlace(port == Port::players ? owner : ~std::uint32_t{0}); }
    void speaks_for(ServerId server_id) { owner = static_cast<std::uint32_t>(server_id.value); }
    void speaks_for(HostNumber number) {
        owner = static_cast<std::uint32_t>(number.value);
        host = true;
    }
    void speaks_for(MatchmakerNumber number) { owner = static_cast<std::uint32_t>(number.value); }
    void speaks_for(SessionPlace place) { owner = place.value; }
};
static_assert(sizeof(Link) == 36);

// Game thread only.
//
// A slot is used by one connection after another, with growing generations. The network's threads may report the end of
// one after the beginning of the next: whatever a report's generation says is older than what is known already changes
// nothing.
class LinkTable {
public:
    // `order` is each port's byte order. The output outlives the table.
    LinkTable(LinkOutput& output, std::array<ByteOrder, 3> order) : output_(output), order_(order) {}

    // Null, and nothing changed, for a connection that its slot has seen end already, or that is open already. An older
    // one that is still open in its slot must have been closed.
    Link* opened(ConnectionId id, Port port, const IpAddress& peer, std::string_view proven_name = {});
    // False when it was not open. Its opened() comes to nothing from now on.
    bool closed(ConnectionId id);
    // Null for a connection that is gone.
    Link* find(ConnectionId id) {
        Link* link = in_slot_of(id);
        return link && link->open && link->id == id ? link : nullptr;
    }
    // The connection that is still open in the slot of this newer one, and must be gone therefore; or null.
    Link* outlived_by(ConnectionId newer);
    std::size_t size() const { return size_; }
    ByteOrder order(Port port) const { return order_[static_cast<std::size_t>(port)]; }

    // To a link that is gone or closing nothing is sent.
    template <class M>
    void send(ConnectionId to, const M& message) {
        if (const Link* link = find(to)) send(*link, message);
    }
    template <class M>
    void send(const Link& link, const M& message) {
        if (!link.closing) output_.send(link.id, encoded(message));
    }
    // The same for news that nobody asked for: it may wait a moment for others on that link.
    template <class M>
    void send_soon(ConnectionId to, const M& message) {
        if (const Link* link = find(to); link && !link->closing) output_.send_soon(to, encoded(message));
    }
    // The same for a frame that is encoded already.
    void send_frame(ConnectionId to, std::span<const std::byte> frame) {
        if (const Link* link = find(to); link && !link->closing) output_.send(to, frame);
    }

    // Sends one frame, encoded already, to many.
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) {
        output_.send_to_all(to, frame);
    }

    // What the peer's certificate says; empty without one. Valid until the link ends.
    std::string_view proven_name(const Link& link) const {
        return link.proven ? std::string_view(proven_names_.at(link.id.slot)) : std::string_view();
    }

    void report_drained(ConnectionId link) { output_.report_drained(link); }
    void greeted(Link& link);
    // Muster does not read it from now on; and does again, since when it had not. In running time.
    void pause(Link& link, Time running);
    Time resume(Link& link);
    Time paused_since(const Link& link) const { return paused_.at(link.id.slot); }
    // Closes after what was sent.
    void close(Link& link);
    // Sends and handles nothing more, but stays open until close_held() sends the last frame.
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
    static constexpr std::uint32_t worker_shift = 24;
    static constexpr std::uint32_t slot_mask = (1U << worker_shift) - 1;

    // Null when no connection has used the slot yet.
    Link* in_slot_of(ConnectionId id) {
        const std::size_t worker = id.slot >> worker_shift;
        const std::size_t slot = id.slot & slot_mask;
        if (worker >= slots_.size() || slot >= slots_[worker].size()) return nullptr;
        return &slots_[worker][slot];
    }
    Link& make_slot_of(ConnectionId id);

    // Valid until the next one is encoded.
    template <class M>
    std::span<const std::byte> encoded(const M& message) {
        const std::size_t size = encoded_size(message);
        scratch_.clear();
        encode_to(message, order(M::port), {scratch_.extend(size), size});
        return scratch_.view();
    }

    LinkOutput& output_;
    std::array<ByteOrder, 3> order_;
    // By the connection's slot: its upper eight bits name the network worker, the rest count from 0.
    std::vector<std::vector<Link>> slots_;
    std::size_t size_ = 0;
    std::map<std::uint32_t, Time> paused_;                         // by slot; few at a time
    std::unordered_map<std::uint32_t, std::string> proven_names_;  // by slot; only where there is mutual TLS
    ByteBuffer scratch_;
};

}  // namespace muster
