#include "nodesim/relay_world.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/virtual_clock.h"
#include "nodesim/relay_owner.h"
#include "protocol/codec.h"
#include "protocol/frame_reader.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/server_messages.h"
#include "sim/agenda.h"
#include "sim/trace.h"

namespace muster::nodesim {
namespace {

using namespace std::chrono_literals;

struct RelayedPeer {
    std::int32_t number = 0;
    Port port = Port::matchmakers;
    RelaySide* at = nullptr;
    ConnectionId id{};
    int greetings = 0;
    std::int32_t asked = 0;
};

class RelayWorld final : private RelaySide::Peers {
public:
    explicit RelayWorld(const RelayOptions& options)
        : options_(options),
          agenda_(clock_),
          random_(options.seed * 0x9e3779b97f4a7c15),
          trace_(options.readable_trace, clock_.now()),
          judge_(trace_) {
        RelaySide::Peers& peers = *this;
        for (std::size_t i = 0; i < options.relays; ++i)
            relays_.push_back(std::make_unique<RelaySide>(agenda_, Random(random_.next()),
                                                          fmt::format("relay-{}", i + 1), peers, options.sabotage));
        for (std::size_t i = 0; i < options.peers; ++i) {
            RelayedPeer peer;
            peer.number = static_cast<std::int32_t>(i + 1);
            peer.port = i % 2 == 0 ? Port::matchmakers : Port::servers;
            peer.at = relays_[i % relays_.size()].get();
            peer.id = {static_cast<std::uint32_t>(i + 1), 1};
            peers_.push_back(peer);
        }
    }

    RelayReport play() {
        const Time start = clock_.now();
        change_owner();
        for (RelayedPeer& peer : peers_) agenda_.in(between(0ms, 3s), [this, &peer] { greet(peer); });
        next_mischief();
        run_until(start + options_.mischief);
        is_calm_ = true;
        run_until(start + options_.mischief + 30s);
        judge_rest();
        return report();
    }

private:
    Duration between(Duration least, Duration most) { return Duration(random_.between(least.count(), most.count())); }
    void run_until(Time end) {
        while (!judge_.objection() && agenda_.step(end)) {
        }
    }

    void change_owner() {
        const std::uint32_t generation = owners_.empty() ? 0 : owners_.back()->generation();
        if (!owners_.empty()) owners_.back()->end(random_.chance(0.7));
        const auto term = static_cast<std::int64_t>(owners_.size() + 1);
        judge_.note(clock_.now(), fmt::format("term {} begins", term));
        owners_.push_back(std::make_unique<RelayOwnerSide>(agenda_, Random(random_.next()), judge_, term, generation));
        RelayOwnerSide& owner = *owners_.back();
        for (const auto& relay : relays_) {
            agenda_.in(between(10ms, 2s), [this, &relay = *relay, &owner, term] {
                relay.set_owner({term, [this, &owner](const std::string&) {
                                     auto stream = std::make_shared<ByteStream>(agenda_, Random(random_.next()));
                                     owner.accept(++last_link_, stream);
                                     return std::pair(last_link_, stream);
                                 }});
            });
        }
    }

    void next_mischief() {
        agenda_.in(between(50ms, 2s), [this] {
            if (is_calm_) return;
            const std::uint64_t what = random_.below(10);
            ByteStream* stream = relays_[random_.below(relays_.size())]->stream();
            if (what < 2) {
                change_owner();
            } else if (what < 8 && stream) {
                ++report_.links_broken;
                stream->break_off();
            } else if (stream) {
                ++report_.links_lost_one_way;
                stream->lose(random_.below(2));
            }
            next_mischief();
        });
    }

    template <class M>
    void say(RelayedPeer& peer, const M& message) {
        std::vector<std::byte> frame;
        encode(message, default_byte_order(M::port), frame);
        peer.at->said(peer.id, peer.port, frame);
    }

    void greet(RelayedPeer& peer) {
        peer.at->opened(peer.id, peer.port);
        if (peer.port == Port::servers) {
            ServerHandshake hello;
            hello.max_matches = peer.number;  // by which the model knows it again
            say(peer, hello);
        } else {
            say(peer, MatchmakerHandshake{});
        }
        ask(peer);
    }

    void ask(RelayedPeer& peer) {
        if (is_calm_) return;
        agenda_.in(between(5ms, 400ms), [this, &peer] { ask(peer); });
        if (peer.greetings == 0) return;
        const Asked asked{peer.number, ++peer.asked};
        if (peer.port == Port::servers) {
            ReadyForMatch ready;
            ready.lobby = lobby_of(asked);
            say(peer, ready);
        } else {
            AllocationRequest request;
            request.lobby = lobby_of(asked);
            say(peer, request);
        }
    }

    void frame(ConnectionId to, RelayLinkNumber link, std::span<const std::byte> frame) override {
        RelayedPeer& peer = peers_[to.slot - 1];
        const ByteOrder order = default_byte_order(peer.port);
        const FrameSplit split = next_frame(frame, order, frame_length_most);
        if (split.code == MatchmakerHandshakeResponse::code || split.code == ServerHandshakeResponse::code) {
            if (++peer.greetings > 1) judge_.object(clock_.now(), fmt::format("peer {} is greeted twice", peer.number));
            return;
        }
        LobbyId lobby;
        if (split.code == AllocationResponse::code)
            lobby = std::get<LobbyRefused>(decode<AllocationResponse>(split.payload, order)->answer).lobby;
        else
            lobby = std::get<LobbyAccepted>(decode<ReadyForMatchResponse>(split.payload, order)->answer).lobby;
        judge_.got(clock_.now(), link, asked_by(lobby));
    }

    void closed(ConnectionId id) override {
        judge_.object(clock_.now(), fmt::format("the socket of peer {} is closed", id.slot));
    }

    // All that was asked is answered, and each was greeted once.
    void judge_rest() {
        std::size_t asked = 0;
        for (const RelayedPeer& peer : peers_) {
            asked += static_cast<std::size_t>(peer.asked);
            if (peer.greetings != 1) judge_.object(clock_.now(), fmt::format("peer {} was not greeted", peer.number));
        }
        if (judge_.answers() != asked)
            judge_.object(clock_.now(), fmt::format("{} of {} are answered", judge_.answers(), asked));
    }

    RelayReport report() {
        report_.objection = judge_.objection();
        report_.trace_hash = trace_.hash();
        if (report_.objection) report_.trace = trace_.last_lines({}, {}, 200);
        report_.owners = owners_.size();
        report_.answers = judge_.answers();
        return report_;
    }

    const RelayOptions options_;
    VirtualClock clock_;
    sim::Agenda agenda_;
    Random random_;
    sim::Trace trace_;
    RelayJudge judge_;
    std::vector<std::unique_ptr<RelayOwnerSide>> owners_;
    std::vector<std::unique_ptr<RelaySide>> relays_;
    std::vector<RelayedPeer> peers_;
    RelayLinkNumber last_link_ = 0;
    bool is_calm_ = false;
    RelayReport report_;
};

}  // namespace

RelayReport run_relays(const RelayOptions& options) {
    return RelayWorld(options).play();
}

}  // namespace muster::nodesim
