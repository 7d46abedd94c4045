#include "agones/counters_and_lists.h"

#include <limits>

#include <doctest/doctest.h>

using namespace muster::agones;

namespace {

std::string error_of(const Reply& reply) {
    CHECK(!reply);
    if (reply) return {};
    CHECK(reply.error().code == Code::unknown);
    return reply.error().message;
}

}  // namespace

TEST_CASE("G-20: a counter is read, set and moved within its range, and refuses with code 2 beyond it") {
    Counters counters{{"rooms", {2, 5}}};
    bool changed = false;
    CHECK(std::get<NamedCounter>(*get_counter(counters, {"rooms"})).counter == Counter{2, 5});
    CHECK(error_of(get_counter(counters, {"none"})) == "counter not found: none");
    CHECK(std::get<NamedCounter>(*update_counter(counters, {"rooms", {}, {}, 3}, changed)).counter == Counter{5, 5});
    CHECK(changed);
    changed = false;
    CHECK(error_of(update_counter(counters, {"rooms", {}, {}, 1}, changed)) ==
          "out of range. Count must be within range [0,Capacity]. Found Count: 6, Capacity: 5");
    error_of(update_counter(counters, {"rooms", {}, {}, -6}, changed));
    error_of(update_counter(counters, {"rooms", {}, {}, std::numeric_limits<std::int64_t>::max()}, changed));
    error_of(update_counter(counters, {"rooms", 6, {}, 0}, changed));
    error_of(update_counter(counters, {"rooms", -1, {}, 0}, changed));
    error_of(update_counter(counters, {"rooms", {}, -1, 0}, changed));
    error_of(update_counter(counters, {"rooms", {}, {}, 0}, changed));
    error_of(update_counter(counters, {"none", 1, {}, 0}, changed));
    CHECK(!changed);
    CHECK(counters.at("rooms") == Counter{5, 5});
    CHECK(update_counter(counters, {"rooms", 0, {}, 0}, changed));
    CHECK(counters.at("rooms") == Counter{0, 5});
    CHECK(update_counter(counters, {"rooms", 9, 10, 0}, changed));
    CHECK(counters.at("rooms") == Counter{9, 10});
    CHECK(update_counter(counters, {"rooms", {}, 4, 0}, changed));
    CHECK(counters.at("rooms") == Counter{4, 4});  // cut to the capacity
}

TEST_CASE("G-20: values are added to a list once, up to its capacity, and removed") {
    Lists lists{{"players", {2, {"ann"}}}};
    bool changed = false;
    CHECK(error_of(add_list_value(lists, {"players", "ann"}, changed)) ==
          "already exists. Value: ann already in List: players");
    error_of(add_list_value(lists, {"players", std::string(257, 'x')}, changed));
    error_of(add_list_value(lists, {"none", "x"}, changed));
    CHECK(!changed);
    CHECK(std::get<NamedList>(*add_list_value(lists, {"players", "bob"}, changed)).list.values.size() == 2);
    CHECK(error_of(add_list_value(lists, {"players", "cat"}, changed)) ==
          "out of range. No available capacity. Current Capacity: 2, List Size: 2");
    CHECK(error_of(remove_list_value(lists, {"players", "cat"}, changed)) ==
          "not found. Value: cat not found in List: players");
    CHECK(remove_list_value(lists, {"players", "ann"}, changed));
    CHECK(lists.at("players").values == std::vector<std::string>{"bob"});
    CHECK(error_of(get_list(lists, {"none"})) == "list not found: none");
}

TEST_CASE("G-20: a list's update replaces what its mask names, and merges without one") {
    Lists lists{{"players", {3, {"ann", "bob"}}}};
    bool changed = false;
    const auto update = [&](List list, std::vector<std::string> mask) {
        return update_list(lists, {"players", std::move(list), std::move(mask)}, changed);
    };
    CHECK(update({5, {"x"}}, {"capacity"}));
    CHECK(lists.at("players") == List{5, {"ann", "bob"}});
    CHECK(update({0, {"bob", "cat"}}, {}));
    CHECK(lists.at("players") == List{5, {"ann", "bob", "cat"}});
    CHECK(update({2, {}}, {}));
    CHECK(lists.at("players") == List{2, {"ann", "bob"}});
    CHECK(update({0, {"dan", "dan", "eve", "fay"}}, {"values"}));
    CHECK(lists.at("players") == List{2, {"dan", "eve"}});
    CHECK(update({0, {}}, {"capacity"}));
    CHECK(lists.at("players") == List{0, {}});
    changed = false;
    error_of(update({1001, {}}, {}));
    error_of(update({-1, {}}, {}));
    error_of(update({1, {}}, {"size"}));
    error_of(update({1, std::vector<std::string>(1001)}, {}));
    error_of(update({1, {std::string(257, 'x')}}, {}));
    error_of(update_list(lists, {"none", {1, {}}, {}}, changed));
    CHECK(!changed);
    CHECK(update({1000, {}}, {}));
}
