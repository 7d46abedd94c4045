// A client's connection to Muster, without a socket: when to connect, whole messages in both directions, when to give
// up and try again. Every client has one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "muster/time.h"
#include "protocol/codec.h"
#include "protocol/dispatch.h"
#include "protocol/frame_reader.h"
#include "protocol/message.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"
#include "sdk/src/backoff.h"

namespace muster::sdk {

class Link {
public:
    enum class Stage : std::uint8_t {
        waiting,   // for the pause before the next attempt to end
        wanted,    // to be connected
        greeting,  // connected; the handshake is under way
        online,    // the handshake is done
        dropping,  // connected, but of no use any more
        resting,   // no connection is wanted until want()
        closed,    // never again
    };

    static constexpr std::chrono::seconds greeting_max{10};
    // A connection that takes so little of what we say is dead.
    static constexpr std::size_t unsent_bytes_max = std::size_t{16} << 20;

    explicit Link(ByteOrder order, std::uint64_t seed = 0) : order_(order), backoff_(seed) {}

    Stage stage() const { return stage_; }
    bool online() const { return stage_ == Stage::online; }
    void seed_jitter(std::uint64_t seed) { backoff_.seed(seed); }

    // What the runner asks and tells.
    bool wants_connection() const {
        return stage_ == Stage::wanted || stage_ == Stage::greeting || stage_ == Stage::online;
    }
    // True when the client is to send its handshake now.
    bool connected(Time now);
    void disconnected(Time now);
    void tick(Time now);
    std::optional<Time> next_tick() const;
    std::vector<std::byte> take_output();

    // What the client decides.
    void greeted();  // the handshake was accepted
    void proven() { backoff_.reset(); }
    void drop();   // start over with a new connection
    void rest();   // send what is left, then stay away
    void want();   // ends a rest: connect, and if there is a connection yet, anew
    void close();  // send what is left, then never connect again

    // While greeting or online; otherwise the message is dropped, and the client repeats it when it is online again.
    template <Message M>
    void send(const M& message) {
        if (stage_ != Stage::greeting && stage_ != Stage::online) return;
        encode(message, order_, output_);
        if (output_.size() > unsent_bytes_max) drop();
    }
    // One of the game's own messages, under the same rules.
    void send_raw(Code code, std::span<const std::byte> payload);

    // Calls `visitor` with each whole message of that port, until the link is dropped. A message that this version does
    // not know is skipped, so that a newer Muster can say more. Any other fault drops the link and is returned.
    template <Port port, class Visitor>
    std::optional<WireError> receive(std::span<const std::byte> bytes, Visitor&& visitor) {
        incoming_.insert(incoming_.end(), bytes.begin(), bytes.end());
        std::size_t used = 0;
        std::optional<WireError> fault;
        while (!fault && wants_connection()) {
            const auto rest = std::span<const std::byte>(incoming_).subspan(used);
            const FrameSplit frame = next_frame(rest, order_, length_max);
            if (frame.kind == FrameSplit::Kind::need_more) break;
            if (frame.kind == FrameSplit::Kind::error) {
                fault = frame.error;
                break;
            }
            used += frame.size;
            const auto taken = visit_outbound<port>(order_, frame.code, frame.payload, visitor);
            if (!taken && taken.error() != WireError::unknown_code) fault = taken.error();
        }
        if (fault) drop();
        forget_incoming(used);
        return fault;
    }

private:
    // Muster may send the longest frame there is; only the list at a handshake comes near it.
    static constexpr std::uint16_t length_max = 65535;

    void forget_incoming(std::size_t used);

    ByteOrder order_;
    Backoff backoff_;
    Stage stage_ = Stage::wanted;
    bool connected_ = false;
    Time due_{};  // of waiting: when to try again; of greeting: when to give up
    std::vector<std::byte> incoming_;
    std::vector<std::byte> output_;
};

}  // namespace muster::sdk
