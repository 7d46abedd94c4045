// One run of Muster's process: the loop and core, as the daemon builds them, between a simulated network and disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/entropy.h"
#include "base/log.h"
#include "base/no_log.h"
#include "base/random.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "core/core.h"
#include "runtime/game_loop.h"
#include "sim/court.h"
#include "sim/disk.h"
#include "sim/network.h"
#include "sim/rules.h"
#include "sim/sabotage.h"

namespace muster::sim {

inline constexpr std::string_view server_secret = "server-secret";
inline constexpr std::string_view matchmaker_secret = "matchmaker-secret";

class Process final : private MessageSource, private LinkOutput, private BatchOutput {
public:
    // All of them outlive the process. `step` is asked before each step at which the machine may die; once it says no,
    // nothing that core does reaches the world any more.
    struct Parts {
        VirtualClock& clock;
        Network& network;
        Disk& disk;
        Court& court;
        Entropy& entropy;
        Sabotage& sabotage;
        const Rules& rules;
        Function<bool()> step;
    };

    Process(Parts parts, std::uint64_t seed, const RecoveredState& recovered);

    // What the world tells it, to be handled in its next pass.
    void accepted(LinkNumber link, Port port, const IpAddress& peer);
    // True when the last frame of it has only begun to arrive.
    bool bytes(LinkNumber link, std::span<const std::byte> bytes);
    void ended(LinkNumber link);
    void handshake_deadline(LinkNumber link);
    // The frame that had begun to arrive when the link had had so many whole ones.
    void frame_deadline(LinkNumber link, std::uint64_t whole_frames);
    std::uint64_t whole_frames(LinkNumber link) const;
    void outcome(const BatchOutcome& outcome);
    void drain(const OperatorDrain& wish);
    void abort(LobbyId lobby);
    void kick(AccountId player);
    void set_clock(const OperatorClock& wish);
    void shut_down();

    // One pass and what leaves after it. False when the machine died in it.
    bool turn();
    // When it wants its next pass if nothing comes before.
    std::optional<Time> next_wake() const;
    // When its loop will think that it woke too late, if it is stopped now (L-8).
    std::optional<Time> planned() const;

    const Core& core() const { return core_; }
    // What it was stopped for in all, as its loop counts it.
    Duration stood_still() const { return loop_.time().stood_still(); }
    std::uint64_t frames_sent() const { return frames_sent_; }

private:
    struct Inbound {
        enum class Kind : std::uint8_t {
            opened,
            frame,
            malformed,
            deadline,
            drained,
            closed,
            outcome,
            drain,
            abort,
            kick,
            set_clock,
            shut_down,
        };
        Kind kind = Kind::frame;
        LinkNumber link = 0;
        Port port = Port::servers;
        Code code = 0;
        WireError fault{};
        LinkFault given_up = LinkFault::handshake_deadline;
        BatchOutcome outcome;
        OperatorDrain drain;
        OperatorClock clock;
        AccountId player;
        LobbyId lobby;
        IpAddress peer;
        std::vector<std::byte> payload;
    };
    // A link as the network threads keep it.
    struct Socket {
        ConnectionId id;
        Port port = Port::servers;
        bool greeted = false;
        bool deaf = false;  // broken frames, or closing: nothing more is read
        std::vector<std::byte> arrived;
        std::uint64_t whole_frames = 0;
    };

    static CoreConfig config(const Rules& rules);
    std::string_view name() const override { return "simulation"; }
    bool refill() override;
    bool handle_next(const Pass& pass) override;
    std::string_view last_handled() const override { return "message"; }
    std::size_t depth() const override { return inbox_.size(); }
    void send(ConnectionId to, std::span<const std::byte> frames) override;
    void report_drained(ConnectionId link) override;
    void greeted(ConnectionId link) override;
    void close(ConnectionId link) override;
    bool submit(RecordBatch&& batch) override;

    void handle(const Pass& pass, const Inbound& message);
    void open_socket(const Pass& pass, const Inbound& message);
    void close_socket(const Pass& pass, LinkNumber link);
    LinkNumber link_of(ConnectionId id) const;
    std::uint64_t published() const { return loop_events_->published(); }
    bool flush();

    Parts parts_;
    Random random_;
    NoLog no_log_;
    Log log_;
    GameLoop loop_;
    Events* loop_events_;
    Core core_;
    std::deque<Inbound> inbox_;
    std::size_t quota_ = 0;  // messages left for this pass
    std::unordered_map<LinkNumber, Socket> sockets_;
    std::vector<LinkNumber> by_slot_;
    std::vector<std::uint32_t> generations_;
    std::vector<std::uint32_t> free_slots_;
    // An empty frame closes the link.
    std::vector<SentFrame> outbox_;
    std::uint64_t frames_sent_ = 0;
    bool dead_ = false;
};

}  // namespace muster::sim
