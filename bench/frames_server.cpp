// What frames_bench measures: the real network, game loop and codec, with the smallest game there is: each heartbeat is
// decoded and acknowledged.
//
//   frames_server [--threads N]
//
// Prints "PORT n" and serves until SIGTERM.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "base/issued_time.h"
#include "base/log.h"
#include "base/no_log.h"
#include "base/system_clock.h"
#include "net/net_source.h"
#include "net/network.h"
#include "protocol/codec.h"
#include "protocol/server_messages.h"
#include "runtime/game_loop.h"
#include "runtime/wakeup.h"

namespace {

using namespace muster;

class Heartbeats {
public:
    Heartbeats(const Clock& clock, Links& links) : links_(links), time_(clock.now(), clock.wall()) {}

    void opened(const Pass&, ConnectionId link, Port, const IpAddress&, std::string_view) { links_.greeted(link); }
    void frame(const Pass& pass, ConnectionId link, const PeerFrame& frame) {
        const auto beat = decode<ServerHeartbeat>(frame.payload, ByteOrder::little);
        if (frame.code != ServerHeartbeat::code || !beat) return links_.cut(link);
        links_.send(link, ServerHeartbeatAck{ServerHeartbeatAck::Accepted{time_.at(pass.now)}});
    }
    void malformed(const Pass&, ConnectionId link, WireError) { links_.cut(link); }
    void gave_up(const Pass&, ConnectionId link, LinkFault) { links_.cut(link); }
    void paused(const Pass&, ConnectionId) {}
    void resumed(const Pass&, ConnectionId) {}
    void drained(ConnectionId) {}
    void closed(const Pass&, ConnectionId) {}
    void handler_failed(const Pass&, ConnectionId link) { links_.cut(link); }

private:
    Links& links_;
    IssuedTime time_;
};

GameLoop* running_loop = nullptr;

void end_loop(int) {
    running_loop->stop();
}

NetworkConfig config_of(int argc, char** argv) {
    NetworkConfig config;
    auto& servers = config.of(Port::servers);
    servers.listen = SocketAddress::parse("127.0.0.1:0");
    // All of the load comes from one address, as fast as it can.
    servers.limits.connections_per_ip = 1'000'000;
    servers.limits.accepts_per_second_ip = 0;
    servers.limits.messages_per_second = 1'000'000;
    if (argc == 3 && std::strcmp(argv[1], "--threads") == 0)
        config.threads = static_cast<std::size_t>(std::atoi(argv[2]));
    return config;
}

}  // namespace

int main(int argc, char** argv) try {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    const SystemClock clock;
    NoLog sink;
    Log log(clock, sink);
    Wakeup wakeup(clock);
    Network network(clock, wakeup, config_of(argc, argv));
    Heartbeats game(clock, network.links());
    NetSource<Heartbeats, Network> source(network, Port::servers, game);
    GameLoop loop(clock, log);
    loop.add_source(source);
    loop.on_flush([&](const Pass&) { network.links().flush(); });
    running_loop = &loop;
    std::signal(SIGTERM, end_loop);

    network.start();
    std::printf("PORT %d\n", network.bound(Port::servers)->port);
    std::fflush(stdout);
    loop.run(network.waiter());
    network.stop();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "frames_server: %s\n", error.what());
    return 1;
}
