#include "net/connection_table.h"

#include <set>
#include <vector>

#include <doctest/doctest.h>

using namespace muster;

namespace {

struct Table {
    BufferBudget budget{1'000};
    ConnectionTable table{5};

    Connection& add(Port port = Port::servers) {
        return table.add(port, FileDescriptor(), IpAddress(), MessageRate(Time(), Duration(0)), budget);
    }
};

}  // namespace

TEST_CASE_FIXTURE(Table, "a reused slot has another generation, and the old id finds nobody (fault 31)") {
    const ConnectionId first = add().id;
    CHECK(table.find(first)->id == first);
    table.remove(*table.find(first));
    CHECK(table.find(first) == nullptr);
    const ConnectionId second = add().id;
    CHECK(second.slot == first.slot);
    CHECK(second.generation != first.generation);
    CHECK(table.find(first) == nullptr);
    CHECK(table.find(second) != nullptr);
}

TEST_CASE_FIXTURE(Table, "fault 32: a slot is used again by its own port only") {
    std::set<std::uint32_t> of_players;
    for (int i = 0; i < 1'000; ++i) of_players.insert(add(Port::players).id.slot);
    table.for_each([&](Connection& connection) { table.remove(connection); });
    for (int i = 0; i < 2'000; ++i) {
        CHECK(!of_players.contains(add(Port::servers).id.slot));
        CHECK(!of_players.contains(add(Port::matchmakers).id.slot));
    }
    for (int i = 0; i < 1'000; ++i) CHECK(of_players.contains(add(Port::players).id.slot));
}

TEST_CASE_FIXTURE(Table, "an id says whose worker the connection is") {
    const ConnectionId id = add().id;
    CHECK(ConnectionTable::worker_of(id) == 5);
    CHECK(table.find({id.slot ^ 1u << 24, id.generation}) == nullptr);
    CHECK(table.find({id.slot + 5'000, id.generation}) == nullptr);
    CHECK(table.find({}) == nullptr);
}

TEST_CASE_FIXTURE(Table, "references stay good while the table grows, and each connection is visited once") {
    const Connection* first = &add();
    std::set<ConnectionId> ids{first->id};
    for (int i = 0; i < 5'000; ++i) ids.insert(add().id);
    CHECK(ids.size() == 5'001);
    CHECK(table.size() == 5'001);
    CHECK(table.find(first->id) == first);

    std::size_t visited = 0;
    table.for_each([&](Connection& connection) {
        ++visited;
        table.remove(connection);
    });
    CHECK(visited == 5'001);
    CHECK(table.size() == 0);
}
