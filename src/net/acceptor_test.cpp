// Who is let in: W-7, faults 9 and 27.
#include "net/acceptor.h"

#include <sys/resource.h>

#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "net/net_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// Whoever opens one more file is told that there are none left.
class NoMoreFiles {
public:
    NoMoreFiles() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const FileDescriptor next(dup(STDERR_FILENO));
        const rlimit none_left{static_cast<rlim_t>(next.number()), before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none_left);
    }
    ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

}  // namespace

TEST_CASE_FIXTURE(WorkerFixture,
                  "W-7, fault 27: more connections than an address may have are closed at once and counted") {
    change_limits(Port::players, [](PortLimits& l) { l.connections_per_ip = 3; });
    std::vector<Peer> peers;
    for (int i = 0; i < 5; ++i) peers.emplace_back(address(Port::players));
    turn_until([&] { return counts(Port::players).refused[AcceptRefusal::per_ip].value() == 2; });
    CHECK(count(InboundKind::opened) == 3);
    CHECK(counts(Port::players).connections.value() == 3);
    turn_until([&] {
        peers[4].receive();
        return peers[4].ended || peers[4].was_reset;
    });
    // Operators and servers of that address still get in.
    join(Port::matchmakers);
    join(Port::servers);

    peers[0].close();
    turn_until([&] { return counts(Port::players).connections.value() == 2; });
    join(Port::players);
}

TEST_CASE_FIXTURE(WorkerFixture,
                  "W-7, fault 27: more connections than a port may have are closed at once and counted") {
    change_limits(Port::servers, [](PortLimits& l) { l.connections_max = 2; });
    std::vector<Peer> peers;
    for (int i = 0; i < 3; ++i) peers.emplace_back(address(Port::servers));
    turn_until([&] { return counts().refused[AcceptRefusal::per_port].value() == 1; });
    CHECK(counts().connections.value() == 2);
    CHECK(counts().accepted.value() == 2);
}

TEST_CASE_FIXTURE(WorkerFixture, "S-7: an address that comes too often is refused until the second is over") {
    change_limits(Port::players, [](PortLimits& l) { l.accepts_per_second_ip = 3; });
    std::vector<Peer> peers;
    for (int i = 0; i < 5; ++i) peers.emplace_back(address(Port::players));
    turn_until([&] { return counts(Port::players).refused[AcceptRefusal::accept_rate].value() == 2; });
    CHECK(counts(Port::players).accepted.value() == 3);
    join(Port::servers);
    clock.advance(1s);
    join(Port::players);
}

TEST_CASE_FIXTURE(WorkerFixture, "fault 27: a crowd is let in over several turns, all of it") {
    std::vector<Peer> peers;
    for (int i = 0; i < 400; ++i) peers.emplace_back(address(Port::players));
    turn();
    CHECK(counts(Port::players).accepted.value() <= Acceptor::newcomers_max);
    turn_until([&] { return count(InboundKind::opened) == 400; });
}

TEST_CASE_FIXTURE(WorkerFixture, "fault 9: without file descriptors accepting rests and recovers, and links go on") {
    auto [server, link] = join();
    const Peer waiting(address(Port::servers));
    {
        const NoMoreFiles none;
        turn_until([&] { return counts().accept_errors.value() == 1; });
        turn(20);
        CHECK(counts().accept_errors.value() == 1);
        // It waits instead of trying again and again.
        const auto start = std::chrono::steady_clock::now();
        worker->do_work(20ms);
        CHECK(std::chrono::steady_clock::now() - start >= 19ms);
        server.send(frame_of(0x1002));
        turn_until([&] { return count(InboundKind::frame) == 1; });
        clock.advance(100ms);
        turn(3);
        CHECK(counts().accept_errors.value() == 2);
    }
    clock.advance(100ms);
    turn_until([&] { return counts().accepted.value() == 2; });
    CHECK(counts().accept_errors.value() == 2);
}

TEST_CASE_FIXTURE(WorkerFixture, "X-3: after accepting has stopped nobody gets in, and links go on") {
    auto [server, link] = join();
    worker->stop_accepting();
    turn(2);
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_storage kernel{};
    const socklen_t size = address(Port::servers).to_kernel(kernel);
    CHECK(connect(socket, reinterpret_cast<const sockaddr*>(&kernel), size) != 0);
    close(socket);
    server.send(frame_of(0x1002));
    turn_until([&] { return count(InboundKind::frame) == 1; });
}

TEST_CASE_FIXTURE(WorkerFixture, "X-3: a stop sends what is left and closes everything") {
    auto [polite, polite_link] = join();
    auto [stubborn, stubborn_link] = join(Port::players);
    links->send(polite_link, frame_of(0x1011, numbered(1)));
    links->flush();
    worker->stop();
    turn(2);
    CHECK(receive(polite, 9) == frame_of(0x1011, numbered(1)));
    CHECK(polite.ended);
    polite.close();
    turn_until([&] { return count(InboundKind::closed, polite_link) == 1; });
    CHECK_FALSE(worker->is_stopped());
    clock.advance(1s);
    turn(2);
    CHECK(count(InboundKind::closed, stubborn_link) == 1);
    CHECK(last(InboundKind::closed).item.reason() == CloseReason::shutdown);
    CHECK(worker->is_stopped());
}
