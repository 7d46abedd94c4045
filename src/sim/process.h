// One run of Muster's process: the loop and core, as the daemon builds them, between a simulated network and disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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
#include "runtime/mailbox.h"
#include "runtime/message_source.h"
#include "sim/court.h"
#include "sim/disk.h"
#include "sim/gateway.h"
#include "sim/id_map.h"
#include "sim/network.h"
#include "sim/rules.h"
#include "sim/sabotage.h"

namespace muster::sim {

inline constexpr std::string_view server_secret = "server-secret";
inline constexpr std::string_view matchmaker_secret = "matchmaker-secret";

// Where in a pass the process may be stopped (L-8).
enum class PassPoint : std::uint8_t { catching_up, reading, message, timer, event, flush };

class Process final : private LinkOutput, private BatchOutput {
public:
    // All of them outlive the process. `step` is asked before each step at which the machine may die; once it says no,
    // nothing that core does reaches the world any more. `at_point` may let time pass.
    struct Parts {
        VirtualClock& clock;
        Network& network;
        Disk& disk;
        Court& court;
        Entropy& entropy;
        Sabotage& sabotage;
        const Rules& rules;
        const GatewayConditions& gateway;
        Function<bool()> step;
        Function<void(PassPoint)> at_point;
    };
    // Runs on the game thread, inside a pass.
    using Command = Function<void(const Pass&), 64>;

    Process(Parts parts, std::uint64_t seed, RecoveredState recovered);

    // What the world tells it, to be handled in its next pass.
    Gateway& gateway() { return gateway_; }
    const Gateway& gateway() const { return gateway_; }
    void outcome(BatchOutcome outcome);
    void drain(const OperatorDrain& wish);
    void abort(LobbyId lobby);
    void kick(AccountId player);
    void remove_server(ServerId server);
    void set_clock(const OperatorClock& wish);
    void shut_down();
    // Questions over HTTP. Their answers are the court's business.
    void ask(const AllocationRequest& request);
    void ask(const MatchPlayers& list);
    void cancel(LobbyId lobby, std::string reason);

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
    std::uint64_t handlers_failed() const { return handlers_failed_; }

    // What NetSource calls.
    void opened(const Pass& pass, ConnectionId id, Port port, const IpAddress& peer, std::string_view name);
    void frame(const Pass& pass, ConnectionId id, const PeerFrame& frame);
    void malformed(const Pass& pass, ConnectionId id, WireError fault);
    void gave_up(const Pass& pass, ConnectionId id, LinkFault fault);
    void paused(const Pass& pass, ConnectionId id);
    void resumed(const Pass& pass, ConnectionId id);
    void drained(ConnectionId id);
    void closed(const Pass& pass, ConnectionId id);
    void handler_failed(const Pass& pass, ConnectionId id);

private:
    // Nobody sleeps: the host knows when the next pass is wanted.
    class NoWaiter final : public Waiter {
    public:
        void wait_until(std::optional<Time>) override {}
        void notify() override {}
    };
    // The newest connection of a slot that core was told of. Reports of older ones come to nothing (fault 32).
    struct Known {
        std::uint32_t generation = 0;
        LinkNumber link = 0;  // 0: core was told of its end
        Port port = Port::servers;
    };
    // The inboxes, with the moments at which the process may be stopped.
    struct StoppableNet {
        Process& process;
        PortInbox& inbox(Port port) { return process.gateway_.inbox(port); }
        bool claim_first_source() { return process.gateway_.claim_first_source(); }
        void turn_without_thread();
        void catch_up();
    };

    static CoreConfig config(const Rules& rules);
    static LoopConfig loop_config(Random& random);
    void command(Command command);
    void send(ConnectionId to, std::span<const std::byte> frames) override;
    void report_drained(ConnectionId id) override;
    void greeted(ConnectionId id) override;
    void close(ConnectionId id) override;
    bool submit(RecordBatch&& batch) override;

    // Null for one whose end core knows.
    const Known* known(ConnectionId id) const;
    // True when it is newer than all that core has heard of in its slot; what was open there is over then.
    bool outlives(ConnectionId id);
    template <class M>
    void heard_over_http(const M& question);
    void answered_over_http(const Pass& pass, const AnsweredQuestion& answered);
    std::uint64_t published() const { return loop_events_->published(); }
    bool flush();

    Parts parts_;
    Random random_;
    NoLog no_log_;
    Log log_;
    NoWaiter waiter_;
    Gateway gateway_;
    StoppableNet net_{*this};
    GameLoop loop_;
    Events* loop_events_;
    Core core_;
    Mailbox<Command> commands_;
    Mailbox<BatchOutcome> outcomes_;
    std::array<std::unique_ptr<MessageSource>, ports.size()> sources_;  // by port
    IdMap<std::uint32_t, Known> known_;                                 // by slot
    struct Asked {
        LobbyId lobby;
        bool list = false;
    };
    std::unordered_map<std::uint64_t, Asked> asked_;  // over HTTP, and not answered
    std::uint64_t next_question_ = 1;
    // An empty frame closes the link.
    std::vector<SentFrame> outbox_;
    std::vector<SentFrame> leaving_;  // empty between two sends
    std::optional<Time> loop_wake_;   // of the loop, since its last pass
    std::vector<ConnectionId> drain_reports_;
    std::uint64_t frames_sent_ = 0;
    std::uint64_t handlers_failed_ = 0;
    bool dead_ = false;
};

}  // namespace muster::sim
