#include "net/outbox.h"

#include <algorithm>

#include <doctest/doctest.h>

using namespace muster;

namespace {

void add(OutboundBatch& batch, ConnectionId to, std::size_t size, int value) {
    std::fill_n(batch.add_frame(to, size), size, static_cast<std::byte>(value));
}

}  // namespace

TEST_CASE("batches that the worker has not taken yet are joined in order, each entry with its bytes") {
    Outbox outbox;
    OutboundBatch taken;
    CHECK(outbox.empty());
    CHECK_FALSE(outbox.take(taken));

    OutboundBatch pass;
    add(pass, {1, 1}, 3, 1);
    pass.entries.push_back({{2, 1}, pass.entries[0].offset, 3, OutboundAction::send});
    outbox.put(pass);
    CHECK(pass.empty());
    add(pass, {3, 1}, 2, 2);
    pass.entries.push_back({.connection = {3, 1}, .action = OutboundAction::close_after_flush});
    outbox.put(pass);
    CHECK_FALSE(outbox.empty());

    REQUIRE(outbox.take(taken));
    REQUIRE(taken.entries.size() == 4);
    CHECK(taken.bytes.size() == 5);
    CHECK(taken.frame(taken.entries[0]).data() == taken.frame(taken.entries[1]).data());
    CHECK(taken.frame(taken.entries[2])[0] == std::byte{2});
    CHECK(taken.frame(taken.entries[2]).size() == 2);
    CHECK(taken.entries[3].action == OutboundAction::close_after_flush);
    CHECK(outbox.empty());
}

TEST_CASE("a burst's memory does not stay for ever") {
    OutboundBatch batch;
    add(batch, {1, 1}, 64 << 20, 1);
    batch.clear();
    CHECK(batch.bytes.capacity() >= 64 << 20);
    add(batch, {1, 1}, 100, 1);
    batch.clear();
    CHECK(batch.bytes.capacity() == 0);
}
