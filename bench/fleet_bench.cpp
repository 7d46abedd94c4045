// What game servers cost core itself, without sockets and without a disk: memory of a server, time of a heartbeat and
// of an allocation from the request to its answer and its end.
//
//   fleet_bench [--servers N] [--allocations N] [--json]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench_world.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/server_messages.h"

namespace {

using namespace muster;
using namespace muster::bench;

// Keeps what a game server or the matchmaker has to answer.
class FleetLinks final : public LinkOutput {
public:
    struct Offer {
        ConnectionId server;
        LobbyId lobby;
        std::string token;
    };

    void send(ConnectionId to, std::span<const std::byte> frame) override {
        constexpr std::size_t head = 4;  // length and code
        const Code code = std::to_integer<Code>(frame[2]) | static_cast<Code>(std::to_integer<Code>(frame[3]) << 8);
        const auto payload = frame.subspan(head);
        if (code == AllocateMatch::code) {
            const auto offer = decode<AllocateMatch>(payload, ByteOrder::little);
            if (offer) offers.push_back({to, offer->lobby, offer->token.string()});
        } else if (code == ServerHandshakeResponse::code) {
            const auto answer = decode<ServerHandshakeResponse>(payload, ByteOrder::little);
            const auto* accepted = answer ? std::get_if<ServerHandshakeResponse::Accepted>(&answer->answer) : nullptr;
            if (accepted) ids[to.slot] = accepted->server;
        } else if (code == AllocationResponse::code) {
            const auto answer = decode<AllocationResponse>(payload, ByteOrder::little);
            if (answer && std::holds_alternative<AllocationResponse::Accepted>(answer->answer)) ++allocated;
        }
    }
    void report_drained(ConnectionId) override {}
    void greeted(ConnectionId) override {}
    void close(ConnectionId) override {}

    std::vector<ServerId> ids;
    std::vector<Offer> offers;
    std::size_t allocated = 0;
};

struct Figures {
    double bytes = 0;
    double heartbeat_ns = 0;
    double allocation_ns = 0;
};

class BenchFleet {
public:
    explicit BenchFleet(std::size_t servers) : servers_(servers) { links_.ids.resize(servers); }

    Figures measure(std::size_t allocations) {
        Figures figures;
        const IpAddress peer = *IpAddress::parse("127.0.0.1");
        const std::size_t empty = heap_bytes();
        world_.for_all(servers_, [&](const Pass& pass, std::size_t i) {
            world_.core->opened(pass, link_of(i), Port::servers, peer);
            const std::string ip = "10.0.0." + std::to_string(1 + i / ports);
            const auto port = static_cast<std::int32_t>(1'024 + i % ports);
            world_.say(pass, link_of(i), ServerHandshake{{}, {ip, port}, RegionId(0), 10});
        });
        malloc_trim(0);
        figures.bytes = static_cast<double>(heap_bytes() - empty) / static_cast<double>(servers_);
        figures.heartbeat_ns = heartbeats();
        figures.allocation_ns = allocate(peer, allocations);
        return figures;
    }

private:
    static constexpr std::size_t ports = 60'000;

    // Everybody once to warm up, then all of them some times, in random order.
    double heartbeats() {
        Random random(3);
        const std::size_t beats = std::max<std::size_t>(servers_, 200'000);
        const auto beat = [&](const Pass& pass, std::size_t i) {
            world_.say(pass, link_of(i), ServerHeartbeat{links_.ids[i], 0, 20, 30});
        };
        world_.for_all(servers_, beat);
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < beats; ++i) order.push_back(random.below(servers_));
        const double began = cpu_seconds();
        world_.for_all(beats, [&](const Pass& pass, std::size_t i) { beat(pass, order[i]); });
        return (cpu_seconds() - began) / static_cast<double>(beats) * 1e9;
    }

    // A hundred at a time: asked for, acknowledged, answered once durable, played and ended.
    double allocate(const IpAddress& peer, std::size_t allocations) {
        constexpr std::size_t at_once = 100;
        const ConnectionId matchmaker = link_of(servers_);
        world_.for_all(1, [&](const Pass& pass, std::size_t) {
            world_.core->opened(pass, matchmaker, Port::matchmakers, peer);
            world_.say(pass, matchmaker, MatchmakerHandshake{{}, "bench", {{RegionId(0)}}});
        });
        std::int32_t lobby = 0;
        const double began = cpu_seconds();
        for (std::size_t done = 0; done < allocations; done += at_once) {
            world_.for_all(at_once, [&](const Pass& pass, std::size_t) {
                world_.say(pass, matchmaker, AllocationRequest{LobbyId(++lobby), 6, 0, RegionId(0), 10, 1650});
            });
            const auto offers = std::exchange(links_.offers, {});
            const auto all = [&](auto say) {
                world_.for_all(offers.size(), [&](const Pass& pass, std::size_t i) { say(pass, offers[i]); });
            };
            using Offer = FleetLinks::Offer;
            all([&](const Pass& pass, const Offer& o) { world_.say(pass, o.server, AllocateMatchAck{true, o.lobby}); });
            all([&](const Pass& pass, const Offer& o) {
                world_.say(pass, o.server, ReadyForMatch{id_of(o), o.lobby, o.token});
            });
            all([&](const Pass& pass, const Offer& o) {
                world_.say(pass, o.server, MatchStartedReport{id_of(o), o.lobby});
            });
            all([&](const Pass& pass, const Offer& o) {
                world_.say(pass, o.server, MatchEndedReport{id_of(o), o.lobby});
            });
            world_.clock.advance(std::chrono::milliseconds(1));
            world_.settle();
        }
        const double took = cpu_seconds() - began;
        if (links_.allocated < allocations) throw std::runtime_error("not all requests were given a server");
        return took / static_cast<double>(allocations) * 1e9;
    }

    ServerId id_of(const FleetLinks::Offer& offer) const { return links_.ids[offer.server.slot]; }

    std::size_t servers_;
    FleetLinks links_;
    BenchWorld world_{links_};
};

}  // namespace

int main(int argc, char** argv) try {
    std::size_t servers = 10'000;
    std::size_t allocations = 20'000;
    bool json = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag == "--json") {
            json = true;
        } else if (flag == "--servers" && i + 1 < argc) {
            servers = std::strtoull(argv[++i], nullptr, 10);
        } else if (flag == "--allocations" && i + 1 < argc) {
            allocations = std::strtoull(argv[++i], nullptr, 10);
        } else {
            std::fprintf(stderr, "usage: fleet_bench [--servers N] [--allocations N] [--json]\n");
            return 64;
        }
    }
    if (servers == 0 || allocations == 0) return 64;
    const Figures figures = BenchFleet(servers).measure(allocations);
    std::printf(json ? "{\"bytes\":%.1f,\"heartbeat_ns\":%.1f,\"allocation_ns\":%.1f}\n"
                     : "a server: %.1f bytes, heartbeat %.1f ns, allocation %.1f ns\n",
                figures.bytes, figures.heartbeat_ns, figures.allocation_ns);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "fleet_bench: %s\n", error.what());
    return 1;
}
