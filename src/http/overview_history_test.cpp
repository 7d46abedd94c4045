#include "http/overview_history.h"

#include <string>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

using namespace muster;

namespace {

FleetView view_at(std::int64_t time_ms) {
    FleetView view;
    view.time = UnixMs{time_ms};
    RegionRow eu;
    eu.id = RegionId(2);
    eu.requests = 7;
    eu.successes = 4;
    eu.retries = 1;
    eu.failures = {{"no_servers_available", 2}, {"server_busy", 1}};
    view.regions = {eu};
    view.failures = eu.failures;
    view.allocation_seconds = {{0.1, 0.2}, {3, 1, 0}};
    view.player_rtt_seconds = {{0.01}, {5, 6}};
    view.players_connected = 8;
    ServerRow server;
    server.status = ServerStatus::available;
    server.load = 3;
    server.max_matches = 10;
    ServerRow away;
    away.status = ServerStatus::offline;
    away.max_matches = 10;
    view.servers = {server, away};
    return view;
}

}  // namespace

TEST_CASE("O-2: the overview of the last ten minutes is kept, and no more") {
    OverviewHistory history;
    CHECK(history.json() ==
          "{\"every_ms\":2000,\"allocation_buckets_ms\":[],\"player_buckets_ms\":[],\"samples\":[]}\n");
    ProcessFigures process;
    process.uptime_s = 12.9;
    process.tick_max_ms = 1.5;
    for (std::int64_t i = 0; i < 1'000; ++i) history.add(view_at(i * 2'000), process);
    CHECK(history.size() == 300);
    CHECK(std::chrono::seconds(OverviewHistory::every) * OverviewHistory::kept == std::chrono::minutes(10));
    const boost::json::value whole = boost::json::parse(history.json());
    CHECK(whole.at("samples").as_array().size() == 300);
    CHECK(whole.at("samples").at(0).at("time_ms").as_int64() == 700 * 2'000);
    CHECK(whole.at("samples").at(299).at("time_ms").as_int64() == 999 * 2'000);
    CHECK(history.json().size() < 300 * 600);
}

TEST_CASE("O-2: a sample has what the overview's charts are made from") {
    OverviewHistory history;
    ProcessFigures process;
    process.uptime_s = 12.9;
    process.tick_avg_ms = 0.25;
    process.tick_max_ms = 1.5;
    history.add(view_at(5), process);
    CHECK(history.json() ==
          R"({"every_ms":2000,"allocation_buckets_ms":[100,200],"player_buckets_ms":[10],"samples":[)"
          R"({"time_ms":5,"uptime_s":12,"requests":7,"successes":4,"retries":1,)"
          R"("failures":{"no_servers_available":2,"server_busy":1},"allocation_counts":[3,1,0],"player_counts":[5,6],)"
          R"("load":3,"capacity":10,"players":8,"idle":0,"tick_avg_ms":0.25,"tick_max_ms":1.5,)"
          R"("regions":[{"id":2,"requests":7,"failures":3}]}]})"
          "\n");
}
