#include "nodesim/relay_world.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/virtual_clock.h"
#include "nodesim/relay_owner.h"
#include "nodesim/relay_work.h"
#include "protocol/codec.h"
#include "protocol/error_texts.h"
#include "protocol/frame_reader.h"
#include "protocol/greeting.h"
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
    int beats = 0;  // of a matchmaker
    int acknowledged = 0;
};

class RelayWorld final : private RelaySide::Peers {
public:
    explicit RelayWorld(const RelayOptions& options)
        : options_(options),
          agenda_(clock_),
          random_(options.seed * 0x9e3779b97f4a7c15),
          trace_(options.readable_trace, clock_.now()),
          work_{options.cells},
          judge_(trace_, work_),
          owners_(options.cells) {
        RelaySide::Peers& peers = *this;
        for (std::size_t i = 0; i < options.relays; ++i)
            relays_.push_back(std::make_unique<RelaySide>(agenda_, Random(random_.next()),
                                                          fmt::format("relay-{}", i + 1), options.cells, peers,
                                                          options.sabotage));
        for (std::size_t i = 0; i < options.peers; ++i) {
            RelayedPeer peer;
            peer.number = static_cast<std::int32_t>(i + 1);
            peer.port = RelayWork::is_matchmaker(peer.number) ? Port::matchmakers : Port::servers;
            peer.at = relays_[i / 2 % relays_.size()].get();
            peer.id = {static_cast<std::uint32_t>(i + 1), 1};
            peers_.push_back(peer);
        }
    }

    RelayReport play() {
        const Time start = clock_.now();
        for (CellNumber cell = 0; cell < options_.cells; ++cell) change_owner(cell);
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

    void change_owner(CellNumber cell) {
        auto& before = owners_[cell];
        OwnedCell owned{cell, static_cast<std::int64_t>(before.size() + 1), 0};
        if (!before.empty()) {
            owned.generation = before.back()->generation();
            before.back()->end(random_.chance(0.7));
        }
        judge_.note(clock_.now(), fmt::format("{}: term {} begins", cell_name(cell), owned.term));
        before.push_back(std::make_unique<RelayOwnerSide>(agenda_, Random(random_.next()), judge_, work_, owned));
        ++report_.owners;
        RelayOwnerSide& owner = *before.back();
        for (const auto& relay : relays_) {
            agenda_.in(between(10ms, 2s), [this, cell, &relay = *relay, &owner, term = owned.term] {
                relay.set_owner(cell, {term, [this, &owner](const std::string&) {
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
            const CellNumber cell = random_.below(options_.cells);
            ByteStream* stream = relays_[random_.below(relays_.size())]->stream(cell);
            if (what < 2) {
                change_owner(cell);
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
            hello.region = RelayWork::region_of(work_.cell_of_server(peer.number));
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
        const LobbyId lobby = lobby_of(asked);
        if (peer.port == Port::matchmakers && random_.chance(0.2)) {
            ++peer.beats;
            say(peer, MatchmakerHeartbeat{});
        }
        switch (RelayWork::kind_of(asked)) {
            case RelayWork::Kind::ready: {
                ReadyForMatch ready;
                ready.lobby = lobby;
                return say(peer, ready);
            }
            case RelayWork::Kind::request: {
                AllocationRequest request;
                request.lobby = lobby;
                request.region = RelayWork::region_of(work_.cell_of_request(asked));
                return say(peer, request);
            }
            case RelayWork::Kind::cancel:
                return say(peer, CancelMatch{lobby});
            case RelayWork::Kind::list: {
                MatchPlayers list;
                list.lobby = lobby;
                return say(peer, list);
            }
        }
    }

    void frame(ConnectionId to, RelayLinkNumber link, std::span<const std::byte> frame) override {
        RelayedPeer& peer = peers_[to.slot - 1];
        const ByteOrder order = default_byte_order(peer.port);
        const FrameSplit split = next_frame(frame, order, frame_length_most);
        if (is_greeting_answer(peer.port, split.code)) {
            if (++peer.greetings > 1) judge_.object(clock_.now(), fmt::format("peer {} is greeted twice", peer.number));
            return;
        }
        if (peer.greetings == 0)
            judge_.object(clock_.now(), fmt::format("peer {} hears something before its greeting", peer.number));
        if (split.code == MatchmakerHeartbeatAck::code) {
            if (++peer.acknowledged > peer.beats)
                judge_.object(clock_.now(), fmt::format("peer {} is acknowledged twice", peer.number));
        } else if (split.code == AllocationResponse::code) {
            const auto response = decode<AllocationResponse>(split.payload, order);
            judge_.got(clock_.now(), link, asked_by(std::get<LobbyRefused>(response->answer).lobby));
        } else if (split.code == ReadyForMatchResponse::code) {
            const auto response = decode<ReadyForMatchResponse>(split.payload, order);
            judge_.got(clock_.now(), link, asked_by(std::get<LobbyAccepted>(response->answer).lobby));
        } else if (split.code == MatchEventNotice::code) {
            const auto notice = decode<MatchEventNotice>(split.payload, order);
            const Reason right = work_.is_known(asked_by(notice->lobby)) ? Reason::cancelled : Reason::match_not_found;
            got_of_all(asked_by(notice->lobby), notice->reason.view() == text(right));
        } else if (split.code == MatchPlayersResponse::code) {
            const auto response = decode<MatchPlayersResponse>(split.payload, order);
            const auto* refused = std::get_if<LobbyRefused>(&response->answer);
            const Asked asked = asked_by(refused ? refused->lobby : std::get<LobbyAccepted>(response->answer).lobby);
            got_of_all(asked, (refused != nullptr) == work_.is_refused(asked));
        }
    }

    // An answer that all cells had to give, or one for all.
    void got_of_all(Asked asked, bool is_right) {
        judge_.got(clock_.now(), asked);
        if (!is_right)
            judge_.object(clock_.now(), fmt::format("peer {}: the answer to {} is wrong", asked.peer, asked.number));
    }

    void closed(ConnectionId id) override {
        judge_.object(clock_.now(), fmt::format("the socket of peer {} is closed", id.slot));
    }

    // All that was asked is answered, and each was greeted once.
    void judge_rest() {
        std::size_t asked = 0;
        for (const RelayedPeer& peer : peers_) {
            asked += static_cast<std::size_t>(peer.asked);
            if (peer.acknowledged != peer.beats)
                judge_.object(clock_.now(), fmt::format("peer {}: {} of {} heartbeats are acknowledged", peer.number,
                                                        peer.acknowledged, peer.beats));
            if (peer.greetings != 1) judge_.object(clock_.now(), fmt::format("peer {} was not greeted", peer.number));
        }
        if (judge_.answers() != asked)
            judge_.object(clock_.now(), fmt::format("{} of {} are answered", judge_.answers(), asked));
    }

    RelayReport report() {
        report_.objection = judge_.objection();
        report_.trace_hash = trace_.hash();
        if (report_.objection) report_.trace = trace_.last_lines({}, {}, 200);
        report_.answers = judge_.answers();
        return report_;
    }

    const RelayOptions options_;
    VirtualClock clock_;
    sim::Agenda agenda_;
    Random random_;
    sim::Trace trace_;
    const RelayWork work_;
    RelayJudge judge_;
    std::vector<std::vector<std::unique_ptr<RelayOwnerSide>>> owners_;  // of each cell
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
