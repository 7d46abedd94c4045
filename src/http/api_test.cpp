#include "http/api.h"

#include <set>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "http/api_fixture.h"
#include "http/cluster_view.h"
#include "http/embedded_file.h"
#include "http/health.h"
#include "http/metrics_text.h"
#include "http/page.h"
#include "protocol/error_texts.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

using Ids = std::vector<int>;

}  // namespace

TEST_CASE_FIXTURE(Asking, "O-2: servers are listed in pages by ascending id, and next is the last id or null") {
    add_servers(5);
    CHECK(ids(get("/servers").body) == Ids{1, 2, 3, 4, 5});
    CHECK(get("/servers").body.ends_with("\"next\":null}\n"));
    const ApiAnswer page = get("/servers?limit=2");
    CHECK(ids(page.body) == Ids{1, 2});
    CHECK(page.body.ends_with("\"next\":2}\n"));
    CHECK(ids(get("/servers?limit=2&after=2").body) == Ids{3, 4});
    CHECK(get("/servers?limit=3&after=2").body.ends_with("\"next\":null}\n"));
    CHECK(ids(get("/servers?region=2").body) == Ids{2, 4});
    CHECK(ids(get("/servers?status=full").body) == Ids{3});
    CHECK(ids(get("/servers?status=available&limit=1&after=2").body) == Ids{4});
    CHECK(get("/servers?limit=1001").status == 400);
    CHECK(get("/servers?status=gone").body ==
          "{\"error\":\"status must be one of: available, full, draining, offline\"}\n");
    CHECK(get("/servers?regoin=2").status == 400);
}

TEST_CASE_FIXTURE(Asking, "O-2: a server's row has every field of the specification") {
    add_servers(1);
    ServerRow& row = view.servers[0];
    row.load = 3;
    row.reported_matches = 2;
    row.max_matches = 10;
    row.cpu_percent = 45.2F;
    row.drained_by_operator = true;
    row.rtt_us = 250;
    row.last_heartbeat_ms_ago = 12;
    const ApiAnswer answer = get("/servers/1");
    CHECK(answer.status == 200);
    for (const char* part :
         {R"("id":1,"ip":"10.0.0.1","port":0,"region":0,"status":"available","matches":3,"reported_matches":2,)",
          R"("max_matches":10,"cpu":45.2,"memory":0,"draining":true,)", R"("connected":false,)", R"("epoch":0,)",
          R"("last_heartbeat_ms_ago":12,"rtt_ms":0.25,)", R"("lobbies":[],"history":[])"}) {
        CHECK_MESSAGE(answer.body.find(part) != std::string::npos, part, " is not in ", answer.body);
    }
    CHECK(get("/servers/2").status == 404);
    CHECK(get("/servers/x").status == 400);
}

TEST_CASE_FIXTURE(Asking, "O-2: matches that run and those that were over lately are one list") {
    for (const int lobby : {2, 4, 6}) {
        MatchRow row;
        row.lobby = LobbyId(lobby);
        row.state = MatchState::started;
        row.server = ServerId(lobby);
        view.matches.push_back(row);
    }
    MatchRecord ended;
    ended.state = MatchState::aborted;
    ended.reason = "No more";
    for (const int lobby : {1, 4, 9}) {
        ended.lobby = LobbyId(lobby);
        over.note(ended);
    }
    CHECK(ids(get("/matches").body, "lobby_id") == Ids{1, 2, 4, 6, 9});
    CHECK(ids(get("/matches?state=live").body, "lobby_id") == Ids{2, 6});
    CHECK(ids(get("/matches?state=over").body, "lobby_id") == Ids{1, 4, 9});
    CHECK(ids(get("/matches?state=started&server=6").body, "lobby_id") == Ids{6});
    CHECK(ids(get("/matches?limit=2&after=2").body, "lobby_id") == Ids{4, 6});
    CHECK(get("/matches?limit=2&after=2").body.ends_with("\"next\":6}\n"));
    CHECK(get("/matches/4").body.find("\"state\":\"aborted\",\"reason\":\"No more\"") != std::string::npos);
    CHECK(get("/matches/2").body.find("\"state\":\"started\"") != std::string::npos);
    CHECK(get("/matches/3").status == 404);
    CHECK(get("/matches/0").status == 400);
}

TEST_CASE_FIXTURE(Asking, "P-8: players are listed with what an operator wants to know, a hostile name as text") {
    PlayerRow row;
    row.id = AccountId(7);
    row.name = "<script>alert(1)</script>";
    row.connected = true;
    row.latency_us = 12'500;
    row.entity = 3;
    sessions.players = {row};
    row.id = AccountId(9);
    row.connected = false;
    row.idle = true;
    sessions.players.push_back(row);
    const std::string body = get("/players").body;
    CHECK(ids(body) == Ids{7, 9});
    CHECK(body.find("<script>") == std::string::npos);
    for (const char* part : {R"("connected":true,"idle":false,"latency_ms":12.5,"jitter_ms":0,"connected_at_ms":0,)",
                             R"("last_message_ms_ago":0,"last_ping_sent_ms_ago":null,"last_ping_received_ms_ago":0,)",
                             R"("entity":3,"failed_heartbeats":0)"}) {
        CHECK_MESSAGE(body.find(part) != std::string::npos, part, " is not in ", body);
    }
    CHECK(ids(get("/players?connected=true").body) == Ids{7});
    CHECK(ids(get("/players?idle=true").body) == Ids{9});
    CHECK(ids(get("/players?after=7").body) == Ids{9});
    CHECK(get("/players/9").status == 200);
    CHECK(get("/players/8").status == 404);
}

TEST_CASE_FIXTURE(Asking, "O-2: matchmakers, regions and the clock") {
    view.matchmakers = {{"a", {RegionId(2)}, 5}, {"b", {}, 6}};
    view.clock = {3, 4, 5, 60};
    CHECK(get("/matchmakers").body ==
          "{\"matchmakers\":[{\"id\":\"a\",\"regions\":[2],\"last_seen_ms_ago\":5},"
          "{\"id\":\"b\",\"regions\":[],\"last_seen_ms_ago\":6}],\"next\":null}\n");
    CHECK(get("/matchmakers?limit=1").body.ends_with("\"next\":\"a\"}\n"));
    CHECK(get("/matchmakers?after=a").body.find("\"id\":\"a\"") == std::string::npos);
    CHECK(get("/regions").body == "{\"regions\":[],\"next\":null}\n");
    CHECK(get("/clock").body == "{\"day\":3,\"hour\":4,\"minute\":5,\"speed\":60}\n");
    CHECK(get("/overview").body.starts_with("{\"time_ms\":"));
}

TEST_CASE_FIXTURE(Asking, "O-2: infrequent readers get a fresh view and frequent ones share a view") {
    add_servers(1);
    // A view costs 1 ms here, and 20 are saved up.
    for (int i = 1; i <= 20; ++i) {
        CHECK(get("/servers").status == 200);
        CHECK(game.fleet_asked == i);
    }
    for (int i = 0; i < 50; ++i) CHECK(get(i % 2 == 0 ? "/servers" : "/overview").status == 200);
    CHECK(game.fleet_asked == 20);
    // From then on as much as 1/200 of the time allows.
    clock.advance(1ms);
    add_servers(2);
    CHECK(ids(get("/servers").body).size() == 3);
    CHECK(game.fleet_asked == 21);
    clock.advance(199ms);
    CHECK(get("/servers").status == 200);
    CHECK(game.fleet_asked == 21);
    clock.advance(1ms);
    CHECK(get("/servers").status == 200);
    CHECK(game.fleet_asked == 22);
}

TEST_CASE_FIXTURE(Asking, "O-2: who looks after an action is not shown a view that was begun before it") {
    const auto before = send("GET", "/servers");
    api.acted(0, {});
    const auto after = send("GET", "/servers");
    CHECK(game.fleet_asked == 1);
    made(1ms);
    CHECK(before->status == 200);
    CHECK(after->status == 0);
    CHECK(game.fleet_asked == 2);

    // Whoever comes meanwhile shares the new one.
    const auto meanwhile = send("GET", "/servers");
    CHECK(meanwhile->status == 0);
    CHECK(game.fleet_asked == 2);
    add_servers(1);
    made(1s);
    CHECK(ids(after->body) == Ids{1});
    CHECK(ids(meanwhile->body) == Ids{1});
    CHECK(get("/servers").status == 200);
    CHECK(game.fleet_asked == 2);
}

TEST_CASE_FIXTURE(Asking, "O-2: a loop that answers nobody tells so who came before an action and who came after it") {
    const auto before = send("GET", "/servers");
    api.acted(0, {});
    clock.advance(1s);
    const auto after = send("GET", "/servers");
    clock.advance(2s);
    thread->turn();
    CHECK(before->status == 503);
    CHECK(after->status == 0);
    CHECK(game.fleet_asked == 2);
    clock.advance(3s);
    thread->turn();
    CHECK(after->status == 503);
    CHECK(get("/servers").status == 200);
}

TEST_CASE_FIXTURE(Asking, "O-2: a view that comes too late does not pass for one that was begun after an action") {
    const auto before = send("GET", "/servers");
    SUBCASE("somebody came after the action") {
        api.acted(0, {});
        const auto after = send("GET", "/servers");
        clock.advance(3s);
        thread->turn();
        CHECK(before->status == 503);
        made(1, 1ms);
        CHECK(after->status == 0);
        add_servers(1);
        made(2, 1ms);
        CHECK(ids(after->body) == Ids{1});
    }
    SUBCASE("somebody came after the action, which came after the first was given up") {
        clock.advance(3s);
        thread->turn();
        api.acted(0, {});
        const auto after = send("GET", "/servers");
        made(1, 1ms);
        CHECK(after->status == 0);
        made(2, 1ms);
        CHECK(after->status == 200);
    }
    SUBCASE("nobody came until it was there") {
        clock.advance(3s);
        thread->turn();
        api.acted(0, {});
        made(1, 1ms);
        CHECK(get("/servers").status == 200);
    }
    CHECK(game.fleet_asked == 2);
}

TEST_CASE_FIXTURE(Asking, "O-2: an action that came to nothing makes no view too old") {
    (void)send("GET", "/servers");
    made(1s);
    ActionOutcome none;
    none.kind = ActionOutcome::Kind::not_found;
    api.acted(0, none);
    CHECK(get("/servers").status == 200);
    CHECK(game.fleet_asked == 1);
}

TEST_CASE_FIXTURE(Asking, "O-2: what views cost too much is made up for in seconds") {
    for (int i = 0; i < 60; ++i) {
        clock.advance(1s);
        (void)send("GET", "/servers");
        made(1s);
    }
    clock.advance(5s);
    CHECK(get("/servers").status == 200);
    clock.advance(900ms);
    CHECK(get("/servers").status == 200);
    CHECK(game.fleet_asked == 62);
}

TEST_CASE_FIXTURE(Asking, "fault 8: without memory to ask for a view the readers are told, and the next asks again") {
    thread->fails = true;
    CHECK(send("GET", "/servers")->status == 503);
    thread->fails = false;
    CHECK(get("/servers").status == 200);
}

TEST_CASE_FIXTURE(Asking, "O-2: whatever a view costs, after a second it is too old") {
    (void)send("GET", "/servers");
    made(10s);
    clock.advance(999ms);
    CHECK(get("/servers").status == 200);
    CHECK(game.fleet_asked == 1);
    clock.advance(1ms);
    CHECK(get("/servers").status == 200);
    CHECK(game.fleet_asked == 2);
}

TEST_CASE_FIXTURE(Asking, "O-2: many readers at once cost the game thread one view") {
    const auto one = send("GET", "/servers");
    const auto two = send("GET", "/matches");
    CHECK(game.fleet_asked == 1);
    CHECK(one->status == 0);
    made(1ms);
    CHECK(one->status == 200);
    CHECK(two->status == 200);
}

TEST_CASE_FIXTURE(Asking, "O-2: a loop that does not answer is 503 in time, and a late view serves the next") {
    const auto answer = send("GET", "/servers");
    clock.advance(2'999ms);
    thread->turn();
    CHECK(answer->status == 0);
    clock.advance(1ms);
    thread->turn();
    CHECK(answer->status == 503);
    made(1s);
    CHECK(send("GET", "/servers")->status == 200);
    clock.advance(1s);
    game.takes = false;
    CHECK(send("GET", "/servers")->status == 503);
}

TEST_CASE_FIXTURE(Asking, "O-2: events come as a page or, when asked so, as a live feed that resumes") {
    for (int id = 1; id <= 3; ++id) ring.append({id, UnixMs{id}, "match.ready", {}});
    CHECK(ids(get("/events").body) == Ids{1, 2, 3});
    CHECK(ids(get("/events?after=1&limit=1").body) == Ids{2});
    CHECK(get("/events?type=server.").body == "{\"events\":[],\"next\":null,\"previous\":null}\n");
    CHECK(get("/events?limit=x").status == 400);

    const auto feed = send("GET", "/events?type=match.", {}, {{"Accept", "text/event-stream"}, {"Last-Event-ID", "2"}});
    CHECK(feed->status == 200);
    REQUIRE(feed->stream);
    std::string out;
    CHECK(feed->stream->next(out));
    CHECK(out.find("id: 3\n") != std::string::npos);
    CHECK(out.find("id: 2\n") == std::string::npos);
    CHECK(send("GET", "/events", {}, {{"Accept", "text/event-stream"}, {"Last-Event-ID", "x"}})->status == 400);
    CHECK(send("GET", "/events?before=3", {}, {{"Accept", "text/event-stream"}})->status == 400);

    std::vector<std::shared_ptr<ApiAnswer>> feeds;
    for (std::size_t i = 1; i < Api::Parts::feeds_usual.connections_ip; ++i)
        feeds.push_back(send("GET", "/events", {}, {{"Accept", "text/event-stream"}}));
    CHECK(feeds.back()->status == 200);
    CHECK(send("GET", "/events", {}, {{"Accept", "text/event-stream"}})->status == 503);
    feeds.pop_back();
    CHECK(send("GET", "/events", {}, {{"Accept", "text/event-stream"}})->status == 200);
}

TEST_CASE_FIXTURE(Asking, "O-2: servers are sampled every ten seconds, whoever looks") {
    add_servers(1);
    api.start_sampling();
    for (int i = 0; i < 3; ++i) {
        clock.advance(10s);
        view.time = UnixMs{1000 + i};
        thread->turn();
        made(1ms);
    }
    clock.advance(1s);
    const std::string body = get("/servers/1").body;
    for (const char* time : {"\"time_ms\":1000,", "\"time_ms\":1001,", "\"time_ms\":1002,"})
        CHECK(body.find(time) != std::string::npos);
}

TEST_CASE_FIXTURE(Asking, "O-2: /openapi.json describes every route there is, and no other") {
    const boost::json::value whole = boost::json::parse(std::string(embedded_openapi.files.front().plain));
    std::set<std::string> described;
    for (const auto& [path, methods] : whole.at("paths").as_object()) {
        for (const auto& [method, operation] : methods.as_object()) {
            std::string name(method.data(), method.size());
            for (char& c : name) c = static_cast<char>(std::toupper(c));
            described.insert(name + " " + std::string(path.data(), path.size()));
        }
    }
    Health health(clock);
    Metrics metrics;
    add_health_routes(routes, health);
    add_metrics_route(routes, metrics, [](HttpRequest&) { return std::optional<HttpResponse>(); });
    add_openapi_route(routes);
    add_cluster_route(routes, gate, [] { return ClusterView(); });
    add_move_route(routes, gate, [](const MoveWish&) { return MoveVerdict::begun; });
    std::set<std::string> served;
    routes.for_each([&](const std::string& method, const std::string& path) { served.insert(method + " " + path); });
    CHECK(served == described);
}

TEST_CASE_FIXTURE(Asking, "O-2: a match shows who was let in, and a player its match") {
    MatchRow match;
    match.lobby = LobbyId(7);
    match.state = MatchState::started;
    view.matches = {match};
    PlayerRow player;
    player.id = AccountId(3);
    sessions.players = {player};
    CHECK(get("/players").body.find("\"lobby_id\":null") != std::string::npos);
    over.note(TokenUsed{LobbyId(7), AccountId(3)}, UnixMs{1'000});
    over.note(TokenUsed{LobbyId(7), AccountId(4)});
    clock.advance(2s);
    CHECK(get("/matches/7").body.find(R"("players":[{"id":3,"joined_at_ms":1000},{"id":4,"joined_at_ms":null}]})") !=
          std::string::npos);
    CHECK(get("/players").body.find("\"lobby_id\":7}") != std::string::npos);
    CHECK(get("/players/3").body.find("\"lobby_id\":7}") != std::string::npos);
    // The list stays short.
    CHECK(get("/matches").body.find("\"players\"") == std::string::npos);
}

TEST_CASE_FIXTURE(Asking, "F-5: a drained server tells who drained it, when and why") {
    add_servers(2);
    view.servers[1].drained_by_operator = true;
    view.servers[1].drain = {"10.0.0.5", "new version", UnixMs{1'000}};
    CHECK(get("/servers/1").body.find("\"drain\":null") != std::string::npos);
    CHECK(get("/servers/2").body.find(R"("drain":{"who":"10.0.0.5","reason":"new version","at_ms":1000})") !=
          std::string::npos);
}

TEST_CASE_FIXTURE(Asking, "O-2: a list is filtered by a region's name, too") {
    add_servers(4);
    RegionRow eu;
    eu.id = RegionId(2);
    eu.name = "EU";
    view.regions = {eu};
    CHECK(ids(get("/servers?region=EU").body) == std::vector<int>{2, 4});
    CHECK(ids(get("/servers?region=2").body) == std::vector<int>{2, 4});
    CHECK(get("/servers?region=Atlantis").status == 400);
}

TEST_CASE_FIXTURE(Asking, "O-2: the overview's history grows while nobody looks") {
    api.start_history();
    for (int i = 0; i < 3; ++i) {
        clock.advance(2s);
        thread->turn();
        made(1ms);
    }
    const ApiAnswer answer = get("/overview/history");
    CHECK(answer.status == 200);
    CHECK(ids(answer.body, "time_ms").size() == 3);
}
