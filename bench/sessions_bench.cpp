// A million players in one core, without sockets: what one costs in memory and in time, beside the plain way to keep
// them (a map of shared pointers and a set of deadlines).
//
//   sessions_bench [--players N] [--heartbeats] [--require BYTES]
//
// Prints bytes a session (all of core's own memory: link, session, timer, entity, both indexes), the time of a login,
// of a message and of a ping with its echo, and the longest pass while all of them are pinged. With --require the exit
// code is 1 when a session takes more than so many bytes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
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

#include "base/log.h"
#include "base/no_log.h"
#include "base/random.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "core/core.h"
#include "protocol/codec.h"
#include "runtime/message_source.h"

namespace {

using namespace muster;
using namespace std::chrono_literals;

// Remembers who was asked for an echo or a heartbeat.
class CountingLinks final : public LinkOutput {
public:
    void send(ConnectionId to, std::span<const std::byte> frame) override {
        if (frame.size() == 4 && frame[3] == std::byte{Ping::code}) pinged.push_back(to);
        if (frame.size() == 8 && frame[3] == std::byte{EntityHeartbeat::code}) {
            const auto request = decode<EntityHeartbeat>(frame.subspan(4), ByteOrder::big);
            if (request) beats.push_back({to, request->request_id});
        }
    }
    void report_drained(ConnectionId) override {}
    void greeted(ConnectionId) override {}
    void close(ConnectionId) override {}

    std::vector<ConnectionId> pinged;
    std::vector<std::pair<ConnectionId, std::uint32_t>> beats;
};

// Says at once that everything is durable, and keeps nothing.
class Forgetting final : public BatchOutput {
public:
    bool submit(RecordBatch&& batch) override {
        outcomes.push_back({batch.number, StoreFault::none});
        return true;
    }
    std::deque<BatchOutcome> outcomes;
};

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::size_t heap_bytes() {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// The daemon's game thread, turned by hand.
class BenchWorld final : public MessageSource {
public:
    explicit BenchWorld(bool heartbeats) : log_(clock, no_log_, LogLevel::error), loop(clock, log_, loop_config()) {
        CoreConfig config;
        config.fleet.regions = {{RegionId(0), "USE"}};
        config.matchmakers.regions = config.fleet.regions;
        config.players.heartbeats.enabled = heartbeats;
        config.players.logins_per_minute = 0;  // what that remembers is of the last minute's logins, not of sessions
        config.server_token = [](std::string_view) { return true; };
        config.matchmaker_token = [](std::string_view) { return true; };
        config.player_credential = [](std::string_view, std::string_view credential, UnixMs) {
            return Result<std::optional<AccountId>, Refusal>(AccountId(std::atoi(std::string(credential).c_str())));
        };
        core.emplace(std::move(config), Core::Parts{loop, log_, links, store, entropy_, clock, clock.wall()},
                     RecoveredState{});
        loop.add_source(*this);
        loop.on_flush([this](const Pass& pass) { core->end_of_pass(pass); });
        settle();
    }

    void settle() {
        while (!loop.turn().idle() || !store.outcomes.empty() || next_ < batch_.size()) {
        }
    }

    // Runs `action` for each number below `count`, in passes of a thousand.
    void for_all(std::size_t count, const std::function<void(const Pass&, std::size_t)>& action) {
        constexpr std::size_t share = 1'000;
        for (std::size_t first = 0; first < count; first += share) {
            batch_.clear();
            for (std::size_t i = first; i < std::min(count, first + share); ++i) batch_.push_back(i);
            next_ = 0;
            action_ = &action;
            settle();
        }
        batch_.clear();
        next_ = 0;
    }

    std::string_view name() const override { return "bench"; }
    bool refill() override { return !store.outcomes.empty() || next_ < batch_.size(); }
    bool handle_next(const Pass& pass) override {
        if (!store.outcomes.empty()) {
            core->store_outcome(pass, store.outcomes.front());
            store.outcomes.pop_front();
            return true;
        }
        if (next_ == batch_.size()) return false;
        (*action_)(pass, batch_[next_++]);
        return true;
    }
    std::string_view last_handled() const override { return "bench"; }
    std::size_t depth() const override { return 0; }

    VirtualClock clock;
    NoLog no_log_;
    Log log_;
    SeededEntropy entropy_{1};
    CountingLinks links;
    Forgetting store;
    GameLoop loop;
    std::optional<Core> core;

private:
    static LoopConfig loop_config() {
        LoopConfig config;
        config.share_least = 100'000;
        return config;
    }

    std::vector<std::size_t> batch_;
    std::size_t next_ = 0;
    const std::function<void(const Pass&, std::size_t)>* action_ = nullptr;
};

ConnectionId link_of(std::size_t i) {
    return {static_cast<std::uint32_t>(i), 1};
}

template <class M>
void send(BenchWorld& world, const Pass& pass, ConnectionId from, const M& message, std::vector<std::byte>& scratch) {
    scratch.clear();
    encode(message, ByteOrder::big, scratch);
    world.core->frame(pass, from, PeerFrame{M::code, std::span(scratch).subspan(4), pass.now, 0});
}

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

}  // namespace

int main(int argc, char** argv) {
    std::size_t players = 1'000'000;
    std::size_t bytes_max = 0;
    bool heartbeats = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag == "--heartbeats") {
            heartbeats = true;
        } else if (flag == "--players" && i + 1 < argc) {
            players = std::strtoull(argv[++i], nullptr, 10);
        } else if (flag == "--require" && i + 1 < argc) {
            bytes_max = std::strtoull(argv[++i], nullptr, 10);
        } else {
            std::fprintf(stderr, "usage: sessions_bench [--players N] [--heartbeats] [--require BYTES]\n");
            return 64;
        }
    }
    if (players == 0) return 64;
    const auto count = static_cast<double>(players);
    std::vector<std::size_t> order(players);
    for (std::size_t i = 0; i < players; ++i) order[i] = i;
    Random random(3);
    for (std::size_t i = players; i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);

    BenchWorld world(heartbeats);
    std::vector<std::byte> scratch;
    const IpAddress peer = *IpAddress::parse("127.0.0.1");
    const std::size_t empty = heap_bytes();
    double began = cpu_seconds();
    world.for_all(players, [&](const Pass& pass, std::size_t i) {
        world.core->opened(pass, link_of(i), Port::players, peer);
        send(world, pass, link_of(i), PlayerLogin{"player-" + std::to_string(i), std::to_string(i + 1), ""}, scratch);
    });
    const double login_ns = (cpu_seconds() - began) / count * 1e9;
    malloc_trim(0);
    const double bytes = static_cast<double>(heap_bytes() - empty) / count;
    if (world.core->players().figures().connected != players) {
        std::fprintf(stderr, "only %zu logged in\n", world.core->players().figures().connected);
        return 1;
    }

    began = cpu_seconds();
    world.for_all(players, [&](const Pass& pass, std::size_t i) {
        send(world, pass, link_of(order[i]), PlayerActivity{}, scratch);
    });
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
        const std::vector<ConnectionId> pinged = std::exchange(world.links.pinged, {});
        pings += pinged.size();
        const auto beats = std::exchange(world.links.beats, {});
        world.for_all(beats.size(), [&](const Pass& pass, std::size_t i) {
            send(world, pass, beats[i].first, EntityHeartbeatAnswer{beats[i].second, 1}, scratch);
        });
        world.for_all(pinged.size(),
                      [&](const Pass& pass, std::size_t i) { send(world, pass, pinged[i], PingEcho{}, scratch); });
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
    return bytes_max != 0 && bytes > static_cast<double>(bytes_max) ? 1 : 0;
}
