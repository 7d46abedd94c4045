// A whole core under a virtual clock, for tests: links that remember what was sent, a store that commits when told.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/log.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "core/core.h"
#include "core/turned_store_fixture.h"
#include "protocol/codec.h"
#include "protocol/frame_reader.h"
#include "runtime/loop_fixture.h"
#include "testing/kept_lines.h"

namespace muster::testing {

using namespace std::chrono_literals;

// Frames by connection, oldest first.
class RememberedLinks final : public LinkOutput {
public:
    struct Frame {
        Code code = 0;
        std::vector<std::byte> payload;
    };
    struct Peer {
        std::deque<Frame> frames;
        bool greeted = false;
        bool closed = false;  // core asked for it
        ByteOrder order = ByteOrder::little;
    };

    void send(ConnectionId to, std::span<const std::byte> frame) override {
        Peer& peer = peers[to];
        CHECK_FALSE(peer.closed);  // nothing follows the last word
        while (!frame.empty()) {
            std::size_t at = 0;
            const auto u16 = [&] {
                const auto a = std::to_integer<unsigned>(frame[at]);
                const auto b = std::to_integer<unsigned>(frame[at + 1]);
                at += 2;
                return static_cast<std::uint16_t>(peer.order == ByteOrder::little ? a | b << 8 : a << 8 | b);
            };
            const std::size_t length = u16();
            const Code code = u16();
            const auto payload = frame.subspan(4, length - 2);
            peer.frames.push_back({code, {payload.begin(), payload.end()}});
            frame = frame.subspan(2 + length);
        }
    }
    void report_drained(ConnectionId link) override { drains.push_back(link); }
    void greeted(ConnectionId link) override { peers[link].greeted = true; }
    void close(ConnectionId link) override { peers[link].closed = true; }

    std::map<ConnectionId, Peer> peers;
    std::vector<ConnectionId> drains;  // who is to be reported as drained
    bool reading = true;               // false: what is sent does not leave
};

class CoreWorld {
public:
    static constexpr RegionId eu{2};
    static constexpr RegionId use{0};

    explicit CoreWorld(const RecoveredState& recovered = {}, const std::function<void(CoreConfig&)>& adjust = {})
        : log(clock, log_lines, LogLevel::debug), loop(clock, log) {
        core = std::make_unique<Core>(usual_config(adjust),
                                      Core::Parts{loop, log, links, store, entropy, clock, clock.wall()}, recovered);
        source.when_refilling = [this] {
            if (!store.holding && !store.waiting.empty()) answer_batch();
            if (links.reading) {
                for (const ConnectionId link : std::exchange(links.drains, {}))
                    post([this, link](const Pass&) { core->drained(link); });
            }
        };
        loop.add_source(source);
        loop.on_flush([this](const Pass& pass) { core->end_of_pass(pass); });
        loop.events().subscribe_all([this](const EventView& event) { event_names.emplace_back(event.name()); });
        settle();
        REQUIRE(core->ready());
    }

    static CoreConfig usual_config(const std::function<void(CoreConfig&)>& adjust) {
        CoreConfig config;
        config.fleet.regions = {{use, "USE"}, {RegionId(1), "USW"}, {eu, "EU"}};
        config.matchmakers.regions = config.fleet.regions;
        config.server_token = [](std::string_view token) { return token == "server-secret"; };
        config.matchmaker_token = [](std::string_view token) { return token == "matchmaker-secret"; };
        config.player_credential = [](std::string_view, std::string_view credential, UnixMs) {
            return credential == "wrong" ? Failure(Refusal::invalid_credential)
                                         : Result<std::optional<AccountId>, Refusal>(std::nullopt);
        };
        if (adjust) adjust(config);
        return config;
    }

    // What a reload does.
    void reload(const std::function<void(CoreConfig&)>& adjust) {
        in_pass([&](const Pass&) { core->configure(usual_config(adjust)); });
    }

    // One pass after the other until nothing is left to do at this moment.
    void settle() {
        for (int i = 0; i < 100; ++i) {
            const TurnReport report = loop.turn();
            if (report.idle() && source.depth() == 0 && (store.holding || store.waiting.empty()) &&
                (!links.reading || links.drains.empty())) {
                return;
            }
        }
        FAIL("core does not come to rest");
    }

    // Lets time pass, turning the loop whenever it wants to.
    void advance(Duration by) { run_until(clock.now() + by); }
    void run_until(Time end) {
        while (true) {
            settle();
            const auto wake = loop.next_wake();
            if (!wake || *wake > end) break;
            clock.advance_to(std::max(*wake, clock.now()));
        }
        clock.advance_to(end);
        settle();
    }

    // Lets the store answer for what it holds.
    void commit() {
        while (!store.waiting.empty()) answer_batch();
        settle();
    }

    // `certificate` is the name that the peer has proven, if any.
    ConnectionId connect(Port port, std::string_view ip = "10.0.0.1", std::string certificate = {}) {
        const ConnectionId id{next_slot_++, 1};
        links.peers[id].order = default_byte_order(port);
        ports_[id] = port;
        post([this, id, port, address = *IpAddress::parse(ip), name = std::move(certificate)](const Pass& pass) {
            core->opened(pass, id, port, address, name);
        });
        settle();
        return id;
    }

    template <class M>
    void send(ConnectionId from, const M& message) {
        std::vector<std::byte> frame;
        encode(message, default_byte_order(M::port), frame);
        send_raw(from, M::code, {frame.begin() + 4, frame.end()});
    }
    void send_raw(ConnectionId from, Code code, std::vector<std::byte> payload) {
        post([this, from, code, bytes = std::move(payload)](const Pass& pass) {
            core->frame(pass, from, PeerFrame{code, bytes, pass.now, 0});
        });
        settle();
    }
    void disconnect(ConnectionId id) {
        post([this, id](const Pass& pass) { core->closed(pass, id); });
        settle();
    }
    // Something to be done inside a pass.
    void in_pass(std::function<void(const Pass&)> action) {
        post(std::move(action));
        settle();
    }

    // The next frame of the link, which must be an M.
    template <class M>
    M next(ConnectionId link) {
        auto& frames = links.peers[link].frames;
        REQUIRE_FALSE(frames.empty());
        REQUIRE(frames.front().code == M::code);
        const RememberedLinks::Frame frame = std::move(frames.front());
        frames.pop_front();
        auto message = decode<M>(frame.payload, default_byte_order(M::port));
        REQUIRE(message.has_value());
        return *message;
    }
    bool quiet(ConnectionId link) { return links.peers[link].frames.empty(); }
    bool closed(ConnectionId link) { return links.peers[link].closed; }
    void forget_frames(ConnectionId link) { links.peers[link].frames.clear(); }
    std::size_t events_named(std::string_view name) const {
        return static_cast<std::size_t>(std::count(event_names.begin(), event_names.end(), name));
    }

    VirtualClock clock;
    KeptLines log_lines;
    Log log;
    SeededEntropy entropy{1};
    RememberedLinks links;
    TurnedStore store;
    ScriptedSource source{"test"};  // what is to be done in the next pass
    GameLoop loop;
    std::vector<std::string> event_names;
    std::unique_ptr<Core> core;

private:
    void post(std::function<void(const Pass&)> action) { source.post("test", std::move(action)); }
    void answer_batch() {
        post([this, outcome = store.answer_next()](const Pass& pass) { core->store_outcome(pass, outcome); });
    }

    std::map<ConnectionId, Port> ports_;
    std::uint32_t next_slot_ = 0;
};

// A game server that has shaken hands.
struct TestServer {
    ConnectionId link;
    ServerId id;
};

inline ServerHandshake hello_of(std::string_view ip, std::int32_t port, RegionId region, std::int32_t max_matches) {
    return {"server-secret", GameEndpoint{IpText(ip), port}, region, max_matches};
}

inline TestServer join(CoreWorld& world, std::int32_t port, RegionId region = CoreWorld::eu,
                       std::int32_t max_matches = 10, std::string_view ip = "10.0.0.1") {
    TestServer server{world.connect(Port::servers, ip), {}};
    world.send(server.link, hello_of(ip, port, region, max_matches));
    const auto response = world.next<ServerHandshakeResponse>(server.link);
    REQUIRE(std::holds_alternative<ServerHandshakeResponse::Accepted>(response.answer));
    server.id = std::get<ServerHandshakeResponse::Accepted>(response.answer).server;
    return server;
}

inline ServerHeartbeat beat_of(const TestServer& server, std::int32_t matches = 0, float cpu = 10, float memory = 10) {
    return {server.id, matches, cpu, memory};
}

// A matchmaker that has shaken hands for all regions.
inline ConnectionId join_matchmaker(CoreWorld& world, std::string_view id = "chat-1") {
    const ConnectionId link = world.connect(Port::matchmakers);
    world.send(link, MatchmakerHandshake{
                         "matchmaker-secret", MatchmakerIdText(id), {{CoreWorld::use, RegionId(1), CoreWorld::eu}}});
    const auto response = world.next<MatchmakerHandshakeResponse>(link);
    REQUIRE(std::holds_alternative<MatchmakerHandshakeResponse::Accepted>(response.answer));
    return link;
}

inline AllocationRequest request_for(std::int32_t lobby, RegionId region = CoreWorld::eu, std::int8_t players = 10) {
    return {LobbyId(lobby), 6, 0, region, players, 1650};
}

// The text of a refusal, or "" for a success.
template <class M>
std::string error_of(const M& message) {
    if (const auto* refused = std::get_if<typename M::Refused>(&message.answer)) return refused->error.string();
    return "";
}

inline std::string heartbeat_error(CoreWorld& world, const TestServer& server, const ServerHeartbeat& beat) {
    world.send(server.link, beat);
    return error_of(world.next<ServerHeartbeatAck>(server.link));
}

inline const Server& state_of(CoreWorld& world, const TestServer& server) {
    const Server* found = world.core->fleet().find(server.id);
    REQUIRE(found != nullptr);
    return *found;
}

// What a server is answered to its MatchStartedReport or MatchEndedReport.
template <class Report>
std::string report_error(CoreWorld& world, const TestServer& server, std::int32_t lobby) {
    world.send(server.link, Report{server.id, LobbyId(lobby)});
    return error_of(world.next<MatchResponse>(server.link));
}

// Takes lobby's match through to its answer.
struct TestMatch {
    LobbyId lobby;
    std::string token;
};
inline TestMatch allocate(CoreWorld& world, ConnectionId matchmaker, const TestServer& server, std::int32_t lobby) {
    world.send(matchmaker, request_for(lobby));
    const auto offer = world.next<AllocateMatch>(server.link);
    REQUIRE(offer.lobby == LobbyId(lobby));
    world.send(server.link, AllocateMatchAck{true, offer.lobby});
    const auto answer = world.next<AllocationResponse>(matchmaker);
    REQUIRE(error_of(answer) == "");
    return {offer.lobby, offer.token.string()};
}

// The matchmaker and the server say that they are alive for so long.
inline void stay(CoreWorld& world, const TestServer& server, ConnectionId matchmaker, Duration time) {
    for (Duration passed{0}; passed < time; passed += 10s) {
        world.advance(10s);
        world.send(server.link, beat_of(server, 10));
        world.next<ServerHeartbeatAck>(server.link);
        world.send(matchmaker, MatchmakerHeartbeat{});
        world.next<MatchmakerHeartbeatAck>(matchmaker);
    }
}

// Asks, and tells why it was refused.
inline std::string request_error(CoreWorld& world, ConnectionId matchmaker, const AllocationRequest& request) {
    world.send(matchmaker, request);
    return error_of(world.next<AllocationResponse>(matchmaker));
}

}  // namespace muster::testing
