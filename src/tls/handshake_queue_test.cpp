#include "tls/handshake_queue.h"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace muster;

namespace {

struct Queueing {
    HandshakeQueue<std::uint32_t> queue;

    void push(const char* from, std::uint32_t number) { queue.push(*IpAddress::parse(from), number); }
    std::vector<std::uint32_t> order() {
        std::vector<std::uint32_t> numbers;
        while (const auto next = queue.pop()) numbers.push_back(*next);
        return numbers;
    }
};

}  // namespace

TEST_CASE_FIXTURE(Queueing, "fault 75: addresses take turns, and the links of one come in their order") {
    for (std::uint32_t i = 0; i < 5; ++i) push("203.0.113.1", i);
    push("203.0.113.2", 10);
    push("203.0.113.2", 11);
    push("203.0.113.3", 20);
    CHECK(queue.size() == 8);
    CHECK(order() == std::vector<std::uint32_t>{0, 10, 20, 1, 11, 2, 3, 4});
    CHECK(queue.empty());
    CHECK_FALSE(queue.pop());
}

TEST_CASE_FIXTURE(Queueing,
                  "fault 75: a newcomer waits for one link of each address, whatever those have sent before") {
    std::uint32_t number = 0;
    for (int address = 1; address <= 250; ++address) {
        for (int i = 0; i < 40; ++i) push(("198.51.100." + std::to_string(address)).c_str(), number++);
    }
    for (int i = 0; i < 1'000; ++i) static_cast<void>(queue.pop());
    push("203.0.113.1", 99'999);
    std::size_t before = 0;
    for (auto next = queue.pop(); next && *next != 99'999; next = queue.pop()) ++before;
    CHECK(before == 250);
}

TEST_CASE_FIXTURE(Queueing, "fault 75: an IPv6 network counts as one address") {
    push("2001:db8::1", 1);
    push("2001:db8::2", 2);
    push("2001:db8::3", 3);
    push("2001:db8:0:1::1", 4);
    CHECK(order() == std::vector<std::uint32_t>{1, 4, 2, 3});
}

TEST_CASE_FIXTURE(Queueing, "fault 75: an address that never stops sending loses nothing and keeps its order") {
    std::vector<std::uint32_t> served;
    std::uint32_t number = 0;
    for (int i = 0; i < 100; ++i) push("203.0.113.1", number++);
    for (int i = 0; i < 1'000; ++i) {
        push("203.0.113.1", number++);
        served.push_back(*queue.pop());
    }
    for (const std::uint32_t rest : order()) served.push_back(rest);
    REQUIRE(served.size() == number);
    for (std::uint32_t i = 0; i < number; ++i) CHECK(served[i] == i);
}
