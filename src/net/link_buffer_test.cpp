#include "net/link_buffer.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <new>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"

using namespace muster;

namespace {

std::vector<std::byte> bytes(std::size_t count, int value = 7) {
    return std::vector(count, static_cast<std::byte>(value));
}

}  // namespace

TEST_CASE("an empty link buffer has no memory") {
    BufferBudget budget(1'000);
    LinkBuffer buffer;
    CHECK(budget.used() == 0);
    buffer.append(bytes(10), budget);
    CHECK(budget.used() >= 10);
    buffer.consume(10);
    CHECK(buffer.empty());
    CHECK(budget.used() == 0);
    buffer.append(bytes(10), budget);
    buffer.release();
    CHECK(budget.used() == 0);
}

TEST_CASE("fault 8: a link buffer that would exceed the budget throws and keeps what it has") {
    BufferBudget budget(1'024);
    LinkBuffer buffer;
    buffer.append(bytes(256, 1), budget);
    const std::size_t used = budget.used();
    CHECK_THROWS_AS(buffer.append(bytes(2'000), budget), std::bad_alloc);
    CHECK(budget.used() == used);
    CHECK(buffer.size() == 256);
    CHECK(std::ranges::all_of(buffer.view(), [](std::byte b) { return b == std::byte{1}; }));
}

TEST_CASE("a link buffer is a queue of bytes, whatever the order of appending and consuming") {
    BufferBudget budget(1 << 20);
    {
        LinkBuffer buffer;
        std::deque<std::byte> model;
        Random random(11);
        for (int step = 0; step < 20'000; ++step) {
            if (random.chance(0.5) && model.size() < 20'000) {
                std::vector<std::byte> more(random.below(300));
                for (std::byte& b : more) b = static_cast<std::byte>(random.below(256));
                buffer.append(more, budget);
                model.insert(model.end(), more.begin(), more.end());
            } else {
                const std::size_t count = random.below(model.size() + 1);
                buffer.consume(count);
                model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(count));
            }
            REQUIRE(buffer.size() == model.size());
            REQUIRE(budget.used() <= 4 * 32'768);
        }
        CHECK(std::ranges::equal(buffer.view(), model));
    }
    CHECK(budget.used() == 0);
}
