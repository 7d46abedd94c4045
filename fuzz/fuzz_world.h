// The whole of core with peers, a store and a clock that a fuzz target plays: whatever it is told, core breaks no check
// of its own and comes to rest.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/no_log.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "core/core.h"
#include "core/turned_store_fixture.h"
#include "protocol/codec.h"
#include "protocol/frame_reader.h"
#include "protocol/messages.h"
#include "runtime/loop_fixture.h"

namespace muster::fuzz {

class FuzzWorld final : private LinkOutput {
public:
    static constexpr std::size_t links_max = 12;

    // What core said on a link, if that link is listened to.
    struct Said {
        Code code = 0;
        std::vector<std::byte> payload;
    };
    struct Socket {
        ConnectionId id;
        Port port = Port::servers;
        bool open = false;
        bool closing = false;
        bool listened_to = false;
        std::vector<Said> said{};
    };
    // What the peers can know: tokens they were given.
    struct Learned {
        std::string match_token = "MATCH_1_x_1";
        std::string resume_token;
    };

    explicit FuzzWorld(const RecoveredState& recovered = {})
        : log_(clock_, no_log_, LogLevel::error), loop_(clock_, log_) {
        store_.room = 64;
        core_.emplace(config(), Core::Parts{loop_, log_, *this, store_, entropy_, clock_, clock_.wall()}, recovered);
        source_.when_refilling = [this] {
            if (store_.holding || store_.waiting.empty()) return;
            source_.post("store", [this, outcome = store_.answer_next()](const Pass& pass) {
                core_->store_outcome(pass, outcome);
            });
        };
        loop_.add_source(source_);
        loop_.on_flush([this](const Pass& pass) { core_->end_of_pass(pass); });
        settle();
    }

    const Core& core() const { return *core_; }
    Time now() const { return clock_.now(); }
    Socket& link(std::size_t number) { return sockets_[number % links_max]; }
    const Learned& learned() const { return learned_; }
    // To a server, since it was asked for last.
    bool is_offered(LobbyId lobby) const { return offers_.contains(lobby); }

    // Where the slot's last connection is still there, its end is reported after the newer one's beginning.
    void open(Socket& link, Port port) {
        const bool outlives = link.open;
        const ConnectionId last = link.id;
        const auto slot = static_cast<std::uint32_t>(&link - sockets_.data());
        link = {{slot, ++generation_}, port, true, false, link.listened_to};
        post([this, id = link.id, port](const Pass& pass) {
            core_->opened(pass, id, port, IpAddress::v4({127, 0, 0, 1}));
        });
        if (outlives) post([this, last](const Pass& pass) { core_->closed(pass, last); });
    }

    void disconnect(Socket& link) {
        if (!link.open) return;
        link.open = false;
        post([this, id = link.id](const Pass& pass) { core_->closed(pass, id); });
    }

    template <class M>
    void say(Socket& link, const M& message) {
        if (!link.open) return;
        std::vector<std::byte> frame;
        encode(message, default_byte_order(M::port), frame);
        say_frame(link, M::code, {frame.begin() + frame_head_size, frame.end()});
    }

    void say_frame(const Socket& link, Code code, std::vector<std::byte> payload) {
        if (!link.open) return;
        const auto request = decode<AllocationRequest>(payload, ByteOrder::little);
        if (code == AllocationRequest::code && request) offers_.erase(request->lobby);  // perhaps it is a new one
        post([this, id = link.id, code, bytes = std::move(payload)](const Pass& pass) {
            core_->frame(pass, id, PeerFrame{code, bytes, pass.now, 0});
        });
    }

    // What an operator does, on the game thread.
    void operate(std::function<void(Core&, const Pass&)> action) {
        post([this, action = std::move(action)](const Pass& pass) { action(*core_, pass); });
    }

    // All that `say` tells is said before core hears any of it.
    void at_once(const std::function<void()>& say) {
        gathering_ = true;
        say();
        gathering_ = false;
        settle();
    }

    // Whether the store answers, and what it answers with.
    void set_store(bool holding, StoreFault fault) {
        store_.holding = holding;
        store_.fault = fault;
        settle();
    }

    void advance(Duration by) {
        const Time end = clock_.now() + by;
        for (int i = 0; i < 100'000; ++i) {
            settle();
            const auto wake = loop_.next_wake();
            if (!wake || *wake > end) break;
            clock_.advance_to(std::max(*wake, clock_.now()));
        }
        clock_.advance_to(end);
        settle();
    }
    // Time passes, and nobody is awake.
    void sleep(Duration by) {
        clock_.advance(by);
        settle();
    }

    // With a store that is well again, and time enough: nothing is left half done.
    void finish() {
        set_store(false, StoreFault::none);
        advance(std::chrono::minutes(5));
        MUSTER_CHECK(core_->matches().in_flight() == 0, "nothing is left half done");
    }

private:
    static CoreConfig config() {
        CoreConfig config;
        config.fleet.regions = {{RegionId(0), "USE"}, {RegionId(2), "EU"}};
        config.matchmakers.regions = config.fleet.regions;
        config.players.heartbeats.enabled = true;
        config.server_token = [](std::string_view token) { return token != "bad"; };
        config.matchmaker_token = [](std::string_view token) { return token != "bad"; };
        config.player_credential = [](std::string_view, std::string_view credential, UnixMs) {
            if (credential == "bad")
                return Result<std::optional<AccountId>, Refusal>(Failure(Refusal::invalid_credential));
            if (credential == "7") return Result<std::optional<AccountId>, Refusal>(AccountId(7));
            return Result<std::optional<AccountId>, Refusal>(std::nullopt);
        };
        return config;
    }

    void post(std::function<void(const Pass&)> action) {
        source_.post("step", std::move(action));
        if (!gathering_) settle();
    }

    // Until the loop would wait. A turn just to see that there is nothing to do was every third of them.
    void settle() {
        for (int i = 0; i < 1'000; ++i) {
            const bool updated = loop_.turn().updates > 0;
            const auto wake = loop_.next_wake();
            const bool due = wake && *wake <= clock_.now();
            if (!updated && !due && source_.depth() == 0 && (store_.holding || store_.waiting.empty())) return;
        }
        MUSTER_CHECK(false, "core comes to rest");
    }

    // LinkOutput.
    void send(ConnectionId to, std::span<const std::byte> frame) override {
        Socket& link = sockets_[to.slot];
        if (link.id != to) return;
        MUSTER_CHECK(!link.closing, "nothing follows the last word");
        MUSTER_CHECK(frame.size() >= frame_head_size, "whole frames only");
        const auto payload = frame.subspan(frame_head_size);
        if (link.listened_to) {
            const FrameSplit split = next_frame(frame, default_byte_order(link.port), 65'535);
            link.said.push_back({split.code, {payload.begin(), payload.end()}});
        }
        if (link.port == Port::servers) {
            if (const auto offer = decode<AllocateMatch>(payload, ByteOrder::little); offer && !offer->token.empty())
                offered(to, *offer);
        } else if (link.port == Port::players) {
            const auto login = decode<PlayerLoginResponse>(payload, ByteOrder::big);
            const auto* accepted = login ? std::get_if<PlayerLoginResponse::Accepted>(&login->answer) : nullptr;
            if (!accepted) return;
            learned_.resume_token = accepted->resume_token.string();
            MUSTER_CHECK(resume_tokens_.insert(learned_.resume_token).second, "a resume token is given once");
        }
    }
    // One that is given once more has the same token.
    void offered(ConnectionId to, const AllocateMatch& offer) {
        constexpr std::size_t offers_max = 4;  // the first and three retries
        learned_.match_token = offer.token.string();
        std::map<std::string, ConnectionId>& offers = offers_[offer.lobby];
        if (!offers.emplace(learned_.match_token, to).second) return;
        MUSTER_CHECK(offers.size() <= offers_max, "a request is retried so often");
        const auto same = [to](const auto& each) { return each.second == to; };
        MUSTER_CHECK(std::ranges::count_if(offers, same) == 1, "each server is offered a match once");
    }
    void report_drained(ConnectionId) override {}
    void greeted(ConnectionId) override {}
    void close(ConnectionId link) override {
        Socket& closing = sockets_[link.slot];
        if (closing.id == link) closing.closing = true;
    }

    VirtualClock clock_;
    NoLog no_log_;
    Log log_;
    SeededEntropy entropy_{1};
    ScriptedSource source_{"fuzz"};
    testing::TurnedStore store_;
    GameLoop loop_;
    std::optional<Core> core_;
    std::array<Socket, links_max> sockets_{};
    std::uint32_t generation_ = 0;
    bool gathering_ = false;
    Learned learned_;
    std::set<std::string> resume_tokens_;
    std::map<LobbyId, std::map<std::string, ConnectionId>> offers_;  // by token, since the latest request
};

}  // namespace muster::fuzz
