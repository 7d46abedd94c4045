#include "base/inbox.h"

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using muster::Inbox;

TEST_CASE("B-1: a full inbox refuses and loses nothing") {
    Inbox<std::unique_ptr<int>> inbox(2);
    CHECK(inbox.push(std::make_unique<int>(1)));
    CHECK(inbox.push(std::make_unique<int>(2)));
    auto third = std::make_unique<int>(3);
    CHECK_FALSE(inbox.push(std::move(third)));
    REQUIRE(third);  // NOLINT(bugprone-use-after-move): a refused message stays with its producer

    std::vector<std::unique_ptr<int>> taken;
    CHECK(inbox.take(taken));
    REQUIRE(taken.size() == 2);
    CHECK(*taken[0] == 1);
    CHECK(*taken[1] == 2);
    CHECK(inbox.push(std::move(third)));
    CHECK(inbox.size() == 1);
}

TEST_CASE("B-1: a batch goes in as far as it fits, from the front") {
    Inbox<int> inbox(3);
    std::array batch{1, 2, 3, 4, 5};
    CHECK(inbox.push(std::span(batch)) == 3);
    CHECK(inbox.push(std::span(batch).subspan(3)) == 0);
    std::vector<int> taken;
    CHECK(inbox.take(taken));
    CHECK(taken == std::vector{1, 2, 3});
    CHECK(inbox.size() == 0);
    taken.clear();
    CHECK_FALSE(inbox.take(taken));
}

TEST_CASE("B-1: many producers, one consumer: all arrive once, each producer's in its order") {
    constexpr int producers = 4;
    constexpr int each = 20'000;
    struct Message {
        int producer;
        int number;
    };
    Inbox<Message> inbox(256);
    std::vector<std::thread> threads;
    for (int producer = 0; producer < producers; ++producer) {
        threads.emplace_back([&inbox, producer] {
            for (int number = 0; number < each;) {
                if (inbox.push(Message{producer, number})) {
                    ++number;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }

    std::array<int, producers> next{};
    std::vector<Message> batch;
    for (int received = 0; received < producers * each;) {
        if (!inbox.take(batch)) {
            std::this_thread::yield();
            continue;
        }
        CHECK(batch.size() <= inbox.capacity());
        for (const Message& message : batch) {
            if (message.number != next[static_cast<std::size_t>(message.producer)]++) FAIL("out of order");
        }
        received += static_cast<int>(batch.size());
        batch.clear();
    }
    for (std::thread& thread : threads) thread.join();
    for (const int count : next) CHECK(count == each);
}
