// A million players in one core, without sockets: what one costs in memory and in time, beside the plain way to keep
// them (a map of shared pointers and a set of deadlines).
//
//   sessions_bench [--players N] [--heartbeats] [--broadcast] [--json] [--require BYTES]
//
// Prints bytes a session (all of core's own memory: link, session, timer, entity, both indexes), the time of a login,
// of a message and of a ping with its echo, and the longest pass while all of them are pinged. With --broadcast only
// this: the longest pass while all of them are told the time, once the clock was set. With --json the figures are one
// object. With --require the exit code is 1 when a session takes more than so many bytes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <malloc.h>

#include "base/random.h"
#include "bench_world.h"
#include "protocol/codec.h"

namespace {

using namespace muster;
using namespace muster::bench;
using namespace std::chrono_literals;

// Remembers who was asked for an echo or a heartbeat.
class CountingLinks final : public LinkOutput {
public:
    void send(ConnectionId to, std::span<const std::byte> frame) override {
        if (frame.size() == 4 && frame[3] == std::byte{Ping::code}) pinged.push_back(to);
        if (frame[3] == std::byte{TimeUpdate::code}) ++told_the_time;
        if (frame.size() == 8 && frame[3] == std::byte{EntityHeartbeat::code}) {
            const auto request = decode<EntityHeartbeat>(frame.subspan(4), ByteOrder::big);
            if (request) beats.push_back({to, request->request_id});
        }
    }
    void report_drained(ConnectionId) override {}
    void greeted(ConnectionId) override {}
    void close(ConnectionId) override {}

    std::vector<ConnectionId> pinged;
    std::size_t told_the_time = 0;
    std::vector<std::pair<ConnectionId, std::uint32_t>> beats;
};

// The plain way.
struct PlainSession {
    ConnectionId link;
    AccountId player;
    std::string name;
    std::string resume_token;
    Time connected_at, last_message, last_activity, last_ping_sent, last_ping_received, deadline;
    Duration latency{0};
};

struct Plain {
    std::unordered_map<std::uint64_t, std::shared_ptr<PlainSession>> by_link;
    std::unordered_map<std::string, std::shared_ptr<PlainSession>> by_name;
    std::set<std::pair<Time, std::uint64_t>> deadlines;

    static std::uint64_t key(ConnectionId link) { return std::uint64_t{link.generation} << 32 | link.slot; }
    void add(std::size_t i, Time now) {
        auto session = std::make_shared<PlainSession>();
        session->link = link_of(i);
        session->player = AccountId(static_cast<std::int32_t>(i + 1));
        session->name = "player-" + std::to_string(i);
        session->resume_token = std::string(32, 'x');
        session->deadline = now + 60s;
        by_name.emplace(session->name, session);
        deadlines.emplace(session->deadline, key(session->link));
        by_link.emplace(key(session->link), std::move(session));
    }
    void touch(std::size_t i, Time now) {
        PlainSession& session = *by_link.at(key(link_of(i)));
        session.last_message = session.last_activity = now;
        deadlines.erase({session.deadline, key(session.link)});
        session.deadline = now + 60s;
        deadlines.emplace(session.deadline, key(session.link));
    }
};

// The longest pass, in ms of CPU, until each of `players` was told the time that is set now.
double longest_pass_of_broadcast(BenchWorld& world, CountingLinks& links, std::size_t players) {
    world.settle();
    links.told_the_time = 0;
    world.longest_pass = 0;
    world.for_all(
        1, [&](const Pass& pass, std::size_t) { world.core->set_clock(pass, GameTime{3, 12, 30}, std::nullopt); });
    while (links.told_the_time < players) {
        world.clock.advance(1ms);
        world.turn();
    }
    return 1e3 * world.longest_pass;
}

struct Options {
    std::size_t players = 1'000'000;
    std::size_t bytes_max = 0;
    bool heartbeats = false;
    bool broadcast = false;
    bool json = false;
};

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag == "--heartbeats") {
            options.heartbeats = true;
        } else if (flag == "--broadcast") {
            options.broadcast = true;
        } else if (flag == "--json") {
            options.json = true;
        } else if (flag == "--players" && i + 1 < argc) {
            options.players = std::strtoull(argv[++i], nullptr, 10);
        } else if (flag == "--require" && i + 1 < argc) {
            options.bytes_max = std::strtoull(argv[++i], nullptr, 10);
        } else {
            return std::nullopt;
        }
    }
    return options.players == 0 ? std::nullopt : std::optional(options);
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = parse(argc, argv);
    if (!options) {
        std::fprintf(stderr,
                     "usage: sessions_bench [--players N] [--heartbeats] [--broadcast] [--json] [--require BYTES]\n");
        return 64;
    }
    const std::size_t players = options->players;
    const bool heartbeats = options->heartbeats;
    const auto count = static_cast<double>(players);
    std::vector<std::size_t> order(players);
    for (std::size_t i = 0; i < players; ++i) order[i] = i;
    Random random(3);
    for (std::size_t i = players; i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);

    CountingLinks links;
    BenchWorld world(links, heartbeats);
    const IpAddress peer = *IpAddress::parse("127.0.0.1");
    const std::size_t empty = heap_bytes();
    double began = cpu_seconds();
    world.for_all(players, [&](const Pass& pass, std::size_t i) {
        world.core->opened(pass, link_of(i), Port::players, peer);
        world.say(pass, link_of(i), PlayerLogin{"player-" + std::to_string(i), std::to_string(i + 1), ""});
    });
    const double login_ns = (cpu_seconds() - began) / count * 1e9;
    malloc_trim(0);
    const double bytes = static_cast<double>(heap_bytes() - empty) / count;
    if (world.core->players().figures().connected != players) {
        std::fprintf(stderr, "only %zu logged in\n", world.core->players().figures().connected);
        return 1;
    }

    if (options->broadcast) {
        const double longest_ms = longest_pass_of_broadcast(world, links, players);
        std::printf(options->json ? "{\"longest_pass_ms\":%.3f}\n" : "longest pass, ms    %8.2f\n", longest_ms);
        return 0;
    }

    began = cpu_seconds();
    world.for_all(players,
                  [&](const Pass& pass, std::size_t i) { world.say(pass, link_of(order[i]), PlayerActivity{}); });
    const double touch_ns = (cpu_seconds() - began) / count * 1e9;

    // Everybody is pinged and echoes, for half a minute.
    double longest_pass = 0;
    std::uint64_t pings = 0;
    std::size_t passes = 0;
    began = cpu_seconds();
    const Time end = world.clock.now() + 30s;
    while (world.clock.now() < end) {
        world.clock.advance(1ms);
        const double pass_began = cpu_seconds();
        world.loop.turn();
        longest_pass = std::max(longest_pass, cpu_seconds() - pass_began);
        ++passes;
        const std::vector<ConnectionId> pinged = std::exchange(links.pinged, {});
        pings += pinged.size();
        const auto beats = std::exchange(links.beats, {});
        world.for_all(beats.size(), [&](const Pass& pass, std::size_t i) {
            world.say(pass, beats[i].first, EntityHeartbeatAnswer{beats[i].second, 1});
        });
        world.for_all(pinged.size(), [&](const Pass& pass, std::size_t i) { world.say(pass, pinged[i], PingEcho{}); });
    }
    if (world.core->players().figures().connected != players) {
        std::fprintf(stderr, "somebody was lost\n");
        return 1;
    }
    const double ping_ns = (cpu_seconds() - began) / static_cast<double>(pings) * 1e9;

    Plain plain;
    const std::size_t before_plain = heap_bytes();
    began = cpu_seconds();
    for (std::size_t i = 0; i < players; ++i) plain.add(i, Time(1s));
    const double plain_login_ns = (cpu_seconds() - began) / count * 1e9;
    const double plain_bytes = static_cast<double>(heap_bytes() - before_plain) / count;
    began = cpu_seconds();
    for (std::size_t i = 0; i < players; ++i) plain.touch(order[i], Time(Duration(2s) + Duration(i)));
    const double plain_touch_ns = (cpu_seconds() - began) / count * 1e9;

    const auto result = [&] {
        return options->bytes_max != 0 && bytes > static_cast<double>(options->bytes_max) ? 1 : 0;
    };
    if (options->json) {
        std::printf(
            "{\"bytes\":%.1f,\"plain_bytes\":%.1f,\"login_ns\":%.1f,\"message_ns\":%.1f,\"plain_message_ns\":%.1f,"
            "\"ping_ns\":%.1f,\"longest_pass_ms\":%.3f}\n",
            bytes, plain_bytes, login_ns, touch_ns, plain_touch_ns, ping_ns, longest_pass * 1e3);
        return result();
    }
    std::printf("%zu sessions%s\n", players, heartbeats ? ", with entity heartbeats" : "");
    std::printf("                      muster     plain   ratio\n");
    std::printf("bytes a session     %8.1f  %8.1f  %6.2f\n", bytes, plain_bytes, bytes / plain_bytes);
    std::printf("login, ns           %8.1f  %8.1f  %6.2f   (ours decodes, answers, and writes two events)\n", login_ns,
                plain_login_ns, login_ns / plain_login_ns);
    std::printf("a message, ns       %8.1f  %8.1f  %6.2f   (ours decodes and dispatches; players in random order)\n",
                touch_ns, plain_touch_ns, touch_ns / plain_touch_ns);
    std::printf("ping and echo, ns   %8.1f   (%llu of them)\n", ping_ns, static_cast<unsigned long long>(pings));
    std::printf("longest pass, ms    %8.2f   (of %zu, each a millisecond of the players' time)\n", longest_pass * 1e3,
                passes);
    return result();
}
