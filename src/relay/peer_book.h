// What a node keeps of each peer at its game ports, so that another owner can be told of it while the peer's socket
// stays open: who it is, how it shook hands, and what it has asked and nobody has answered yet.
//
//   state      meaning                                              next states
//   ---------  ---------------------------------------------------  ---------------------------------------------------
//   fresh      it has said nothing yet                              asking: its handshake came
//   asking     its handshake is not answered                        greeted: accepted; refused ones are closed by the
//                                                                   owner
//   greeted    it was accepted                                      returning: another owner is told of it
//   returning  its handshake was said to another owner              greeted: accepted as before, and the peer is not
//   told
//                                                                   again; anything else closes the peer
//
// A new owner gets the handshake and then the unanswered requests, in their order. A request is one that the protocol
// answers; each is safe to ask twice, since a peer that reconnects asks again, too. One of them is not told the second
// answer as it is: a token's use that the lost owner may have written is no longer free for its own second asking, so
// "already used" becomes K-3's answer for an unknown outcome, "Store unavailable".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "protocol/port.h"

namespace muster {

// One thread at a time. No I/O.
class PeerBook {
public:
    // Of one peer. One with more is closed when the owner changes, and reconnects.
    static constexpr std::size_t unanswered_max = 4096;

    struct Frame {
        Code code = 0;
        std::vector<std::byte> payload{};
    };
    struct Peer {
        enum class State : std::uint8_t { fresh, asking, greeted, returning };

        ConnectionId id{};
        Port port = Port::servers;
        State state = State::fresh;
        bool is_paused = false;
        bool is_told = false;        // the present owner was told of it
        bool is_ending = false;      // it broke the protocol or is being closed: no other owner hears of it
        bool is_closing = false;     // the relay has closed it
        bool needs_more = false;     // its handshake is not all that another owner must know
        bool wants_drained = false;  // the owner waits to be told
        std::uint64_t number = 0;    // grows with each that came
        std::uint32_t identity = 0;  // the number that it was told it has, as it stood on the wire
        IpAddress address{};
        std::string name{};  // what its certificate proves
        Frame hello{};
        struct Request {
            Code code = 0;
            Code answer = 0;
            std::uint64_t key = 0;
            std::vector<std::byte> payload{};
            bool is_repeated = false;  // an owner was lost that may have done it
        };
        std::deque<Request> unanswered{};
    };

    std::size_t size() const { return peers_.size(); }
    // Requests that wait for their answers.
    std::size_t unanswered() const { return unanswered_; }
    // Null when it is not known.
    Peer* find(ConnectionId id);

    void opened(ConnectionId id, Port port, const IpAddress& address, std::string_view name);
    void heard(Peer& peer, Code code, std::span<const std::byte> payload);
    void heard(ConnectionId id, Code code, std::span<const std::byte> payload) {
        if (Peer* peer = find(id)) heard(*peer, code, payload);
    }
    void closed(ConnectionId id);

    // The owner sends it a frame: what is to be done with it. What it answers counts as answered after flushed().
    enum class Passing : std::uint8_t { pass, swallow, amend, close };
    [[nodiscard]] Passing told(Peer& peer, std::span<const std::byte> frame, ByteOrder order);
    [[nodiscard]] Passing told(ConnectionId id, std::span<const std::byte> frame, ByteOrder order) {
        Peer* peer = find(id);
        return peer ? told(*peer, frame, order) : Passing::pass;
    }
    // What leaves instead of the frame that told() amends; until the next told().
    std::span<const std::byte> amended() const { return amended_; }
    // What told() let pass has left; or it never will, and counts as not said.
    void flushed();
    void discarded() { said_.clear(); }

    // The owner is gone: all peers return to the next one. Calls close(id) for those that cannot.
    template <class Close>
    void owner_lost(Close close) {
        discarded();
        for (auto& [id, peer] : peers_) {
            peer.wants_drained = false;
            peer.is_told = false;
            if (peer.state == Peer::State::greeted) peer.state = Peer::State::returning;
            for (Peer::Request& request : peer.unanswered) request.is_repeated = true;
            const bool cannot = peer.needs_more || peer.unanswered.size() >= unanswered_max;
            // The lost owner may not have closed one that broke the protocol.
            if (peer.is_closing || (!peer.is_ending && !cannot)) continue;
            peer.is_ending = peer.is_closing = true;
            close(id);
        }
    }
    // Calls visit(peer) for each that another owner is to be told of.
    // Those that came first come first.
    template <class Visit>
    void for_each_to_tell(Visit visit) {
        for (Peer* peer : to_tell()) visit(*peer);
    }

private:
    struct Said {
        ConnectionId to{};
        Code code = 0;
        bool is_greeting = false;
        std::uint32_t identity = 0;
        std::uint64_t key = 0;
    };
    void note(const Said& said);
    // The request that this frame answers, if all that is said before it has left; null: none.
    const Peer::Request* answered_by(const Peer& peer, Code code, std::uint64_t key) const;
    bool is_doubtful(const Peer& peer, std::span<const std::byte> payload, ByteOrder order);
    std::vector<Peer*> to_tell();

    std::map<ConnectionId, Peer> peers_;
    std::uint64_t opened_ = 0;
    std::size_t unanswered_ = 0;
    std::vector<Said> said_;
    std::vector<std::byte> amended_;
};

}  // namespace muster
