#include "postgres/node_watch.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

NodeRow node(const std::string& name, std::int64_t beat, const std::string& prefers = "") {
    NodeRow row;
    row.name = name;
    row.beat = beat;
    row.prefers = prefers;
    return row;
}

}  // namespace

TEST_CASE("N-11: a node is alive while its beat moves, and no longer than the silence after that") {
    NodeWatch watch(5s);
    Time now{1h};
    CHECK_FALSE(watch.is_alive("one"));
    for (int second = 0; second < 5; ++second, now += 1s) {
        watch.seen(now, {node("one", second), node("two", 7)});
        CHECK(watch.is_alive("one"));
        CHECK(watch.is_alive("two"));
    }
    watch.seen(now, {node("one", 5), node("two", 7)});
    CHECK(watch.is_alive("one"));
    CHECK_FALSE(watch.is_alive("two"));
    watch.seen(now + 1s, {node("one", 6), node("two", 8)});
    CHECK(watch.is_alive("two"));
}

TEST_CASE("N-11: a node that said goodbye is not alive, nor is one whose row is gone") {
    NodeWatch watch(5s);
    NodeRow left = node("one", 3);
    left.has_left = true;
    watch.seen(Time{1h}, {left, node("two", 1)});
    CHECK_FALSE(watch.is_alive("one"));
    CHECK(watch.is_alive("two"));
    watch.seen(Time{1h + 1s}, {left});
    CHECK_FALSE(watch.is_alive("two"));
}

TEST_CASE("N-9, N-11: while the engine was away nobody could beat, so nobody is called dead for it") {
    NodeWatch watch(5s);
    watch.seen(Time{1h}, {node("one", 3)});
    watch.seen(Time{1h + 60s}, {node("one", 3)});
    CHECK(watch.is_alive("one"));
}

TEST_CASE("N-6, N-12: the successor is alive, prefers the cell if any does, has fewest cells, is the first by name") {
    NodeWatch watch(5s);
    NodeRow gone = node("a", 1, "main");
    gone.has_left = true;
    const std::vector<NodeRow> rows{gone, node("b", 1), node("c", 1, "x,main"), node("d", 1, "main"), node("e", 1)};
    watch.seen(Time{1h}, rows);
    CHECK(successor_of("e", "main", rows, watch, {}) == "c");
    CHECK(successor_of("c", "main", rows, watch, {}) == "d");
    CHECK(successor_of("c", "x", rows, watch, {}) == "b");
    CHECK(successor_of("b", "y", {node("b", 1), gone}, watch, {}).empty());
    CHECK(successor_of("", "y", rows, watch, {{"b", 1}, {"c", 2}, {"d", 1}}) == "e");
    CHECK(successor_of("e", "y", rows, watch, {{"b", 2}, {"c", 2}, {"d", 1}}) == "d");
    CHECK(successor_of("e", "y", rows, watch, {{"b", 1}, {"c", 1}, {"d", 1}}) == "b");
    CHECK(successor_of("e", "main", rows, watch, {{"c", 2}, {"d", 1}}) == "d");
}

TEST_CASE("N-12: a cell goes back to a living node that prefers it, unless its owner prefers it too") {
    NodeWatch watch(5s);
    std::vector<NodeRow> rows{node("one", 1), node("two", 1, "main"), node("three", 1, "main,other")};
    watch.seen(Time{1h}, rows);
    CHECK(preferred_over("one", "main", rows, watch) == "three");
    CHECK(preferred_over("one", "other", rows, watch) == "three");
    CHECK(preferred_over("one", "moon", rows, watch).empty());
    CHECK(preferred_over("two", "main", rows, watch).empty());
    rows[2].has_left = true;
    watch.seen(Time{1h} + 1s, rows);
    CHECK(preferred_over("one", "main", rows, watch) == "two");
    rows[1].prefers = "";
    CHECK(preferred_over("one", "main", rows, watch).empty());
}
