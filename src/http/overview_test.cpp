#include "http/overview.h"

#include <string>

#include <doctest/doctest.h>

#include "base/json_fields.h"

using namespace muster;

namespace {

struct Fleet {
    Fleet() {
        view.time = UnixMs{5};
        RegionRow eu;
        eu.id = RegionId(2);
        eu.name = "EU";
        eu.requests = 7;
        eu.successes = 4;
        eu.retries = 1;
        eu.failures = {{"no_servers_available", 2}, {"server_busy", 1}};
        view.regions = {eu};
        view.failures = eu.failures;
    }
    ServerRow& add(ServerStatus status, std::int32_t load, std::int32_t max, float cpu) {
        ServerRow row;
        row.id = ServerId(static_cast<std::int32_t>(view.servers.size()) + 1);
        row.region = RegionId(2);
        row.status = status;
        row.load = load;
        row.max_matches = max;
        row.cpu_percent = cpu;
        view.servers.push_back(row);
        return view.servers.back();
    }
    std::string regions() const {
        JsonFields out;
        describe_regions(view, out);
        return out.finish();
    }

    FleetView view;
    ProcessFigures process;
    RecentFailures recent;
};

}  // namespace

TEST_CASE_FIXTURE(Fleet, "F-11: a region is the sum of its servers, averages and room of those that are not offline") {
    add(ServerStatus::available, 3, 10, 20);
    add(ServerStatus::full, 5, 5, 40);
    add(ServerStatus::offline, 9, 100, 90);
    CHECK(regions() ==
          R"({"regions":[{"id":2,"name":"EU","servers":{"available":1,"full":1,"draining":0,"offline":1},)"
          R"("capacity":15,"load":8,"cpu_percent":30,"memory_percent":0,"requests":7,"failures":3,"retries":1,)"
          R"("lost":0,"brake":false}]})");
}

TEST_CASE_FIXTURE(Fleet, "O-2: a lost fleet does not turn green when it has left the registry") {
    const auto judged = [this] {
        const HealthVerdict verdict = verdict_of(view, process, recent);
        return std::string(verdict.status) + (verdict.reasons.empty() ? "" : ": " + verdict.reasons[0]);
    };
    view.regions[0].lost = 833;
    CHECK(judged() == "bad: EU had 833 servers, has none");
    view.regions[0].lost = 1;
    CHECK(judged() == "bad: EU had 1 server, has none");
    for (int i = 0; i < 10; ++i) add(ServerStatus::available, 0, 10, 0);
    view.regions[0].lost = 11;
    CHECK(judged() == "bad: EU had 21 servers, has 10");
    view.regions[0].lost = 10;
    CHECK(judged() == "warn: EU lost 10 of 20 servers in the last 15 minutes");
    view.regions[0].lost = 2;
    CHECK(judged() == "warn: EU lost 2 of 12 servers in the last 15 minutes");
    view.regions[0].lost = 1;
    CHECK(judged() == "ok");
    for (std::size_t i = 0; i < 6; ++i) view.servers[i].status = ServerStatus::offline;
    CHECK(judged() == "bad: EU had 11 servers, has 4");
}

TEST_CASE_FIXTURE(Fleet, "O-2: many aborted matches are a warning, a few among many are not") {
    view.matches.resize(380);
    view.abort_reason = "Server lost";
    view.aborts = 20;
    CHECK(verdict_of(view, process, recent).status == "ok");
    view.aborts = 21;
    const HealthVerdict verdict = verdict_of(view, process, recent);
    CHECK(verdict.status == "warn");
    REQUIRE(verdict.reasons.size() == 1);
    CHECK(verdict.reasons[0] == "21 matches were aborted in the last 15 minutes, most with \"Server lost\"");
    view.matches.clear();
    view.aborts = 19;
    CHECK(verdict_of(view, process, recent).status == "ok");
}

TEST_CASE_FIXTURE(Fleet, "O-2: registrations that are being refused are a warning, with figures") {
    view.refused = {{Port::servers, 37, "Invalid token", "10.0.0.9"}, {Port::matchmakers, 1, "Invalid region", "::1"}};
    const HealthVerdict verdict = verdict_of(view, process, recent);
    CHECK(verdict.status == "warn");
    REQUIRE(verdict.reasons.size() == 2);
    CHECK(verdict.reasons[0] ==
          "37 registrations of game servers refused in the last minutes, most with \"Invalid token\", the last from "
          "10.0.0.9");
    CHECK(
        verdict.reasons[1] ==
        "1 registrations of matchmakers refused in the last minutes, most with \"Invalid region\", the last from ::1");
}

TEST_CASE_FIXTURE(Fleet, "O-2: health is the worst that is known, with every reason") {
    CHECK(verdict_of(view, process, recent).status == "ok");
    add(ServerStatus::available, 1, 10, 0);
    CHECK(verdict_of(view, process, recent).reasons.empty());
    add(ServerStatus::offline, 0, 10, 0).braked = true;
    CHECK(verdict_of(view, process, recent).status == "warn");
    view.servers[0].load = 10;
    view.servers[0].status = ServerStatus::full;
    const HealthVerdict full = verdict_of(view, process, recent);
    CHECK(full.status == "warn");
    REQUIRE(full.reasons.size() == 2);
    CHECK(full.reasons[1] == "No server of EU can take a match");
    view.servers[0].status = ServerStatus::offline;
    CHECK(verdict_of(view, process, recent).status == "bad");
    view.servers.clear();
    view.store_up = false;
    CHECK(verdict_of(view, process, recent).status == "bad");
    view.store_up = true;
    process.problems = {"Not ready: draining"};
    CHECK(verdict_of(view, process, recent).reasons == process.problems);
}

TEST_CASE_FIXTURE(Fleet, "O-2: the overview has every part of its shape") {
    view.allocation_seconds = {{0.1, 0.2}, {10, 10, 0}};
    view.player_rtt_seconds = {{0.01}, {3, 4}};
    view.players_connected = 8;
    view.clock = {3, 4, 5, 60};
    MatchRow match;
    match.state = MatchState::started;
    view.matches = {match, match};
    process.version = "1.2";
    process.uptime_s = 12.9;
    process.tick_avg_ms = 0.5;
    const std::string text = overview_json(view, process, recent);
    for (const char* part : {
             R"("time_ms":5,"version":"1.2","uptime_s":12,"health":{"status":"ok","reasons":[]},"regions":[{"id":2)",
             R"("allocations":{"requests":7,"successes":4,"failures":{"no_servers_available":2,"server_busy":1},)",
             R"("retries":1,"in_flight":0,"p50_ms":100,"p95_ms":190,"p99_ms":198,)",
             R"("latency_ms":{"buckets_ms":[100,200],"counts":[10,10,0]}},"matches":)",
             R"("matches":{"offering":0,"allocated":0,"ready":0,"started":2})",
             R"("players":{"connected":8,"in_grace":0,"idle":0,"latency_ms":{"buckets_ms":[10],"counts":[3,4]}})",
             R"("clock":{"day":3,"hour":4,"minute":5,"speed":60})",
             R"("loop":{"ticks_per_second":0,"tick_avg_ms":0.5,"tick_max_ms":0,"messages_per_second":0,"overruns":0,)",
             R"("store":{"up":true,"queue_depth":0},"matchmakers":0})",
         }) {
        CHECK_MESSAGE(text.find(part) != std::string::npos, part, " is not in ", text);
    }
}

TEST_CASE_FIXTURE(Fleet, "O-2: health warns while allocations fail, and says with what") {
    add(ServerStatus::available, 0, 10, 20);
    recent.add(view);
    CHECK(verdict_of(view, process, recent).status == "ok");
    view.failures["no_servers_available"] += 10;
    view.regions[0].requests += 10;
    const HealthVerdict verdict = verdict_of(view, process, recent);
    CHECK(verdict.status == "warn");
    CHECK(verdict.reasons == std::vector<std::string>{"10 of 10 allocations failed in the last minute, most of them "
                                                      "with \"No servers available\""});
}

TEST_CASE_FIXTURE(Fleet, "O-2: what holds of several regions is one reason with all their names") {
    view.regions.clear();
    for (int i = 0; i < 6; ++i) {
        RegionRow region;
        region.id = RegionId(static_cast<std::int8_t>(i));
        region.name = std::vector<std::string>{"USE", "USW", "EU", "RU", "AU", "BR"}[static_cast<std::size_t>(i)];
        view.regions.push_back(region);
        ServerRow& server = add(ServerStatus::offline, 0, 10, 0);
        server.region = region.id;
        server.braked = true;
    }
    CHECK(verdict_of(view, process, recent).reasons ==
          std::vector<std::string>{"All servers of USE, USW, EU, RU, AU, BR are offline",
                                   "Eviction brake on in USE, USW, EU, RU, AU, BR: many servers silent; removals "
                                   "suspended"});
    view.servers.clear();
    view.regions[0].lost = 3;
    view.regions[1].lost = 4;
    CHECK(verdict_of(view, process, recent).reasons == std::vector<std::string>{"USE, USW had 7 servers, have none"});
    for (int i = 0; i < 2; ++i) add(ServerStatus::full, 10, 10, 0).region = RegionId(static_cast<std::int8_t>(i));
    CHECK(verdict_of(view, process, recent).reasons ==
          std::vector<std::string>{"USE, USW had 9 servers, have 2", "No server of USE, USW can take a match"});
    for (int i = 2; i < 4; ++i) add(ServerStatus::available, 19, 20, 0).region = RegionId(static_cast<std::int8_t>(i));
    CHECK(verdict_of(view, process, recent).reasons.back() == "EU, RU are almost full: 38 of 40 matches");
}

TEST_CASE_FIXTURE(Fleet, "O-2: of very many regions twelve are named") {
    view.regions.clear();
    for (std::int8_t i = 0; i < 100; ++i) {
        RegionRow region;
        region.id = RegionId(i);
        region.name = "R" + std::to_string(i);
        view.regions.push_back(region);
        add(ServerStatus::offline, 0, 10, 0).region = region.id;
    }
    CHECK(verdict_of(view, process, recent).reasons ==
          std::vector<std::string>{"All servers of R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11 and 88 more are "
                                   "offline"});
}
