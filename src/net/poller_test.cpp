#include "net/poller.h"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "net/listener.h"
#include "net/net_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("a wake-up before the wait ends it at once, and takes no system call") {
    Poller poller;
    poller.wake();
    poller.wake();
    CHECK(poller.wait(1h).empty());
    CHECK(poller.wakes() == 0);
}

TEST_CASE("a wake-up from another thread ends the wait, every time") {
    Poller poller;
    constexpr int rounds = 2'000;
    std::atomic<int> wanted{0};
    std::atomic<int> seen{0};
    std::thread waker([&] {
        for (int round = 1; round <= rounds; ++round) {
            wanted.store(round);
            poller.wake();
            while (seen.load() < round) std::this_thread::yield();
        }
    });
    for (int round = 1; round <= rounds; ++round) {
        // A lost wake-up would leave this waiting for an hour.
        while (wanted.load() < round) poller.wait(1h);
        seen.store(round);
    }
    waker.join();
    CHECK(poller.wakes() <= rounds);
}

TEST_CASE("a socket is reported by its name when something new came, and once for it") {
    Poller poller;
    Listener listener(Port::servers, *SocketAddress::parse("127.0.0.1:0"));
    REQUIRE(poller.add(listener.socket(), {7, 9}));
    poller.wait(0s);
    Peer peer(listener.bound());
    const auto events = poller.wait(5s);
    REQUIRE(events.size() == 1);
    CHECK(Poller::name_of(events[0]) == ConnectionId{7, 9});
    CHECK((events[0].events & EPOLLIN) != 0);
    CHECK(poller.wait(0s).empty());
}
