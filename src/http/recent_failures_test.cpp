#include "http/recent_failures.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

FleetView view_at(std::int64_t seconds, std::uint64_t requests, std::map<std::string, std::uint64_t> failures) {
    FleetView view;
    view.time = UnixMs{seconds * 1000};
    view.regions.emplace_back().requests = requests;
    view.failures = std::move(failures);
    return view;
}

}  // namespace

TEST_CASE("O-2: an operator hears when over one in twenty allocations of the last minute failed") {
    RecentFailures recent;
    CHECK_FALSE(recent.complaint(view_at(0, 50, {{"no_servers_available", 50}})).has_value());  // nothing to compare
    recent.add(view_at(0, 50, {{"no_servers_available", 50}}));
    CHECK_FALSE(recent.complaint(view_at(10, 150, {{"no_servers_available", 55}})).has_value());  // exactly 5 %
    CHECK(recent.complaint(view_at(10, 150, {{"no_servers_available", 56}, {"server_busy", 1}})) ==
          "7 of 100 allocations failed in the last minute, most of them with \"No servers available\"");
}

TEST_CASE("O-2: a few failures, and requests that were wrong themselves, are no reason to worry") {
    RecentFailures recent;
    recent.add(view_at(0, 0, {}));
    CHECK_FALSE(recent.complaint(view_at(10, 4, {{"server_allocation_timeout", 4}})).has_value());
    CHECK_FALSE(recent.complaint(view_at(10, 9, {{"invalid_match_lobby_id", 9}})).has_value());
    CHECK(recent.complaint(view_at(10, 5, {{"server_allocation_timeout", 5}})).has_value());
}

TEST_CASE("O-2: what failed over a minute ago is past") {
    RecentFailures recent;
    recent.add(view_at(0, 0, {}));
    recent.add(view_at(10, 20, {{"store_unavailable", 20}}));
    for (int seconds = 20; seconds <= 60; seconds += 10) recent.add(view_at(seconds, 20, {{"store_unavailable", 20}}));
    CHECK(recent.complaint(view_at(60, 20, {{"store_unavailable", 20}})).has_value());
    recent.add(view_at(70, 20, {{"store_unavailable", 20}}));
    CHECK_FALSE(recent.complaint(view_at(70, 20, {{"store_unavailable", 20}})).has_value());
}
