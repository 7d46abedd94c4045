#include "http/api.h"

#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/virtual_clock.h"
#include "http/embedded_file.h"
#include "http/health.h"
#include "http/metrics_text.h"
#include "http/page.h"
#include "protocol/error_texts.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// Turned by hand: what was posted runs at turn(), what is due at the clock's time too.
class HandThread final : public HttpThread {
public:
    explicit HandThread(const Clock& clock) : clock_(clock) {}
    void post(std::function<void()> work) override { due_.emplace(clock_.now(), std::move(work)); }
    void after(Duration delay, std::function<void()> work) override {
        due_.emplace(clock_.now() + delay, std::move(work));
    }
    void turn() {
        while (!due_.empty() && due_.begin()->first <= clock_.now()) {
            const auto work = std::move(due_.begin()->second);
            due_.erase(due_.begin());
            work();
        }
    }

private:
    const Clock& clock_;
    std::multimap<Time, std::function<void()>> due_;
};

class PlayedGame final : public ApiGame {
public:
    bool ask_for_fleet() override { return ++fleet_asked, takes; }
    bool ask_for_players() override { return ++players_asked, takes; }
    bool act(std::uint64_t number, const Action& action, const std::string& who, Time) override {
        acts.push_back({number, action, who});
        return takes;
    }
    ProcessFigures figures() override { return {}; }

    struct Act {
        std::uint64_t number;
        Action action;
        std::string who;
    };
    bool takes = true;
    int fleet_asked = 0;
    int players_asked = 0;
    std::vector<Act> acts;
};

class NoArchive final : public EventArchive {
public:
    std::vector<EventRecord> after(std::int64_t, std::size_t) override { return {}; }
    std::vector<EventRecord> before(std::int64_t, std::size_t) override { return {}; }
};

struct Answer {
    unsigned status = 0;  // 0: none yet
    std::string body;
    std::shared_ptr<HttpStream> stream;
};

struct Asking {
    Asking() { api.add_routes(routes); }

    std::shared_ptr<Answer> send(std::string method, std::string_view target, std::string body = {},
                                 std::vector<HttpHeader> headers = {{"Content-Type", "application/json"}}) {
        HttpRequest request;
        request.method = std::move(method);
        request.path = "/api/v1" + std::string(target.substr(0, target.find('?')));
        if (target.find('?') != target.npos) request.query = target.substr(target.find('?') + 1);
        request.headers = std::move(headers);
        request.body = std::move(body);
        request.known_host = true;
        request.peer = *IpAddress::parse("10.1.2.3");
        auto answer = std::make_shared<Answer>();
        routes.handle(std::move(request),
                      HttpResponder([answer](HttpResponse&& got) { *answer = {got.status, got.body, got.stream}; }));
        thread->turn();
        return answer;
    }
    // With a view at hand when one is wanted.
    Answer get(std::string_view target) {
        const int fleet = game.fleet_asked;
        const int players = game.players_asked;
        const auto answer = send("GET", target);
        if (game.fleet_asked > fleet) api.fleet_made(std::make_shared<const FleetView>(view), 1ms);
        if (game.players_asked > players) api.players_made(std::make_shared<const PlayersView>(sessions), 1ms);
        return *answer;
    }
    void add_servers(std::int32_t count) {
        for (std::int32_t id = 1; id <= count; ++id) {
            ServerRow row;
            row.id = ServerId(id);
            row.region = RegionId(id % 2 == 0 ? 2 : 0);
            row.status = id % 3 == 0 ? ServerStatus::full : ServerStatus::available;
            row.ip = *IpAddress::parse("10.0.0.1");
            view.servers.push_back(row);
        }
    }
    static std::vector<int> ids(const std::string& body, const std::string& name = "id") {
        std::vector<int> out;
        const std::string key = "{\"" + name + "\":";
        for (std::size_t at = body.find(key); at != body.npos; at = body.find(key, at + 1))
            out.push_back(std::stoi(body.substr(at + key.size())));
        return out;
    }

    VirtualClock clock;
    std::shared_ptr<HandThread> thread = std::make_shared<HandThread>(clock);
    PlayedGame game;
    AdminGate gate{clock, {false, true, nullptr}};
    EventRing ring;
    NoArchive archive;
    OverMatches over;
    FleetView view;
    PlayersView sessions;
    Api api{Api::Parts{game, gate, ring, archive, slow_reads, over, clock, thread}};
    SlowReads slow_reads;
    Routes routes;
};

using Ids = std::vector<int>;

}  // namespace

TEST_CASE_FIXTURE(Asking, "O-2: servers are listed in pages by ascending id, and next is the last id or null") {
    add_servers(5);
    CHECK(ids(get("/servers").body) == Ids{1, 2, 3, 4, 5});
    CHECK(get("/servers").body.ends_with("\"next\":null}\n"));
    const Answer page = get("/servers?limit=2");
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
    const Answer answer = get("/servers/1");
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

TEST_CASE_FIXTURE(Asking, "O-2: managers, regions and the clock") {
    view.managers = {{"a", {RegionId(2)}, 5}, {"b", {}, 6}};
    view.clock = {3, 4, 5, 60};
    CHECK(get("/managers").body ==
          "{\"managers\":[{\"id\":\"a\",\"regions\":[2],\"last_seen_ms_ago\":5},"
          "{\"id\":\"b\",\"regions\":[],\"last_seen_ms_ago\":6}],\"next\":null}\n");
    CHECK(get("/managers?limit=1").body.ends_with("\"next\":\"a\"}\n"));
    CHECK(get("/managers?after=a").body.find("\"id\":\"a\"") == std::string::npos);
    CHECK(get("/regions").body == "{\"regions\":[],\"next\":null}\n");
    CHECK(get("/clock").body == "{\"day\":3,\"hour\":4,\"minute\":5,\"speed\":60}\n");
    CHECK(get("/overview").body.starts_with("{\"time_ms\":"));
}

TEST_CASE_FIXTURE(Asking, "O-2: who asks now and then sees what is now, and who asks all the time shares") {
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

TEST_CASE_FIXTURE(Asking, "O-2: whatever a view costs, after a second it is too old") {
    (void)send("GET", "/servers");
    api.fleet_made(std::make_shared<const FleetView>(view), 10s);
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
    api.fleet_made(std::make_shared<const FleetView>(view), 1ms);
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
    api.fleet_made(std::make_shared<const FleetView>(view), 1s);
    CHECK(send("GET", "/servers")->status == 200);
    clock.advance(1s);
    game.takes = false;
    CHECK(send("GET", "/servers")->status == 503);
}

TEST_CASE_FIXTURE(Asking, "O-2: a drain goes to the game with who asked, and its answer comes back") {
    add_servers(1);
    (void)send("GET", "/servers");
    api.fleet_made(std::make_shared<const FleetView>(view), 1s);
    (void)send("GET", "/servers");
    CHECK(game.fleet_asked == 1);
    const auto answer = send("POST", "/servers/1/drain", R"({"draining":true})");
    REQUIRE(game.acts.size() == 1);
    CHECK(game.acts[0].who == "10.1.2.3");
    const auto* drain = std::get_if<action::Drain>(&game.acts[0].action);
    REQUIRE(drain);
    CHECK(drain->server == ServerId(1));
    CHECK(drain->draining);
    CHECK(answer->status == 0);
    api.acted(game.acts[0].number, {});
    CHECK(answer->status == 200);
    CHECK(answer->body == "{\"id\":1,\"draining\":true}\n");
    // Who acts sees what came of it: the view from before is not shown again.
    (void)send("GET", "/servers");
    CHECK(game.fleet_asked == 2);

    const auto missing = send("POST", "/servers/77/drain", R"({"draining":false})");
    ActionOutcome none;
    none.kind = ActionOutcome::Kind::not_found;
    api.acted(game.acts[1].number, none);
    CHECK(missing->status == 404);
    CHECK(send("POST", "/servers/x/drain", R"({"draining":true})")->status == 400);
    CHECK(send("POST", "/servers/1/drain", R"({"draining":true,"now":1})")->status == 400);
    CHECK(send("POST", "/servers/1/drain", "draining=true")->status == 400);
    CHECK(send("POST", "/servers/1/drain", R"({"draining":true})", {})->status == 415);
    CHECK(send("GET", "/servers/1/drain")->status == 405);
    CHECK(game.acts.size() == 2);
}

TEST_CASE_FIXTURE(Asking, "O-2: abort, kick and the clock reach the game as they were meant") {
    (void)send("POST", "/matches/5/abort", R"({"reason":"late"})");
    (void)send("POST", "/players/7/kick", "");
    (void)send("PUT", "/clock", R"({"day":3,"hour":4,"minute":5})");
    const auto clock_set = send("PUT", "/clock", R"({"speed":60})");
    REQUIRE(game.acts.size() == 4);
    const auto& abort = std::get<action::Abort>(game.acts[0].action);
    CHECK(abort.lobby == LobbyId(5));
    CHECK(abort.reason == "late");
    CHECK(std::get<action::Kick>(game.acts[1].action).player == AccountId(7));
    CHECK(std::get<action::Kick>(game.acts[1].action).reason.empty());
    const auto& time = std::get<action::SetClock>(game.acts[2].action);
    CHECK(time.time);
    CHECK(time.to.day == 3);
    CHECK(time.to.minute == 5);
    CHECK_FALSE(time.speed);
    CHECK_FALSE(std::get<action::SetClock>(game.acts[3].action).time);
    CHECK(std::get<action::SetClock>(game.acts[3].action).speed == 60);
    ActionOutcome outcome;
    outcome.clock = {3, 4, 5, 60};
    api.acted(game.acts[3].number, outcome);
    CHECK(clock_set->body == "{\"day\":3,\"hour\":4,\"minute\":5,\"speed\":60}\n");

    MatchRecord ended;
    ended.lobby = LobbyId(6);
    ended.state = MatchState::ended;
    over.note(ended);
    CHECK(send("POST", "/matches/6/abort", "{}")->status == 409);
    CHECK(send("PUT", "/clock", "{}")->status == 400);
    CHECK(send("PUT", "/clock", R"({"day":3})")->status == 400);
    CHECK(send("PUT", "/clock", R"({"day":8,"hour":4,"minute":5})")->status == 400);
    CHECK(send("PUT", "/clock", R"({"speed":0})")->status == 400);
    CHECK(game.acts.size() == 4);
}

TEST_CASE_FIXTURE(Asking, "A-8: an allocation over HTTP is answered when it is made, or refused with its status") {
    const std::string wish =
        R"({"lobby_id":5,"region":2,"game_type":6,"game_mode":3,"player_count":10,"average_rating":1650})";
    const auto answer = send("POST", "/matches", wish);
    REQUIRE(game.acts.size() == 1);
    const AllocationRequest& request = std::get<action::Allocate>(game.acts[0].action).request;
    CHECK(request == AllocationRequest{LobbyId(5), 6, 3, RegionId(2), 10, 1650});
    ActionOutcome done;
    done.server = ServerId(3);
    done.ip = "10.0.0.1";
    done.port = 7777;
    done.token = "MATCH_5_x_1";
    done.allocated_at = UnixMs{9};
    api.acted(game.acts[0].number, done);
    CHECK(answer->body ==
          "{\"lobby_id\":5,\"server_id\":3,\"ip\":\"10.0.0.1\",\"port\":7777,\"token\":\"MATCH_5_x_1\","
          "\"allocated_at_ms\":9}\n");

    const std::pair<Refusal, unsigned> statuses[] = {
        {Refusal::server_busy, 503},          {Refusal::no_servers_available, 503},
        {Refusal::region_not_supported, 400}, {Refusal::invalid_match_lobby_id, 409},
        {Refusal::store_unavailable, 503},    {Refusal::allocation_cancelled, 409},
    };
    for (const auto& [why, status] : statuses) {
        const auto refused = send("POST", "/matches", wish);
        ActionOutcome outcome;
        outcome.kind = ActionOutcome::Kind::refused;
        outcome.error = text(why);
        api.acted(game.acts.back().number, outcome);
        CHECK(refused->status == status);
        CHECK(refused->body == fmt::format("{{\"error\":\"{}\"}}\n", text(why)));
    }
    const std::size_t asked = game.acts.size();
    CHECK(send("POST", "/matches", R"({"lobby_id":5,"region":2})")->status == 400);
    CHECK(send("POST", "/matches", R"({"lobby_id":0,"region":2,"player_count":10})")->status == 400);
    CHECK(send("POST", "/matches", R"({"lobby_id":5,"region":2,"player_count":128})")->status == 400);
    CHECK(game.acts.size() == asked);
}

TEST_CASE_FIXTURE(Asking, "O-2: an action that the loop does not come to is 503 in time, and its answer finds nobody") {
    const auto drain = send("POST", "/servers/1/drain", R"({"draining":true})");
    const auto allocate = send("POST", "/matches", R"({"lobby_id":5,"region":2,"player_count":10})");
    clock.advance(5s);
    thread->turn();
    CHECK(drain->status == 503);
    CHECK(allocate->status == 0);
    clock.advance(25s);
    thread->turn();
    CHECK(allocate->status == 503);
    for (const auto& act : game.acts) api.acted(act.number, {});
    game.takes = false;
    CHECK(send("POST", "/servers/1/drain", R"({"draining":true})")->status == 503);
}

TEST_CASE_FIXTURE(Asking, "fault 70: the gate stands before every action, and before every read off loopback") {
    const auto right = [](std::string_view token) { return token == "right"; };
    gate.set_rules({true, false, right});
    routes.for_each([&](const std::string& method, const std::string& path) {
        const std::string target = path.substr(std::string("/api/v1").size());
        CHECK_MESSAGE(send(method, target, "{}")->status == 401, method, " ", path);
    });
    CHECK(game.fleet_asked == 0);
    CHECK(game.acts.empty());
    gate.set_rules({true, true, right});
    CHECK(get("/servers").status == 200);
    CHECK(send("POST", "/servers/1/drain", R"({"draining":true})")->status == 401);
    (void)send("POST", "/servers/1/drain", R"({"draining":true})",
               {{"Content-Type", "application/json"}, {"Authorization", "Bearer right"}});
    CHECK(game.acts.size() == 1);
}

TEST_CASE_FIXTURE(Asking, "O-2: events come as a page or, when asked so, as a live feed that resumes") {
    for (int id = 1; id <= 3; ++id) ring.append({id, UnixMs{id}, "match.ready", "{}"});
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

    std::vector<std::shared_ptr<Answer>> feeds;
    for (std::size_t i = 1; i < EventStreamCount::most; ++i)
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
        api.fleet_made(std::make_shared<const FleetView>(view), 1ms);
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
    add_metrics_route(routes, metrics);
    add_openapi_route(routes);
    std::set<std::string> served;
    routes.for_each([&](const std::string& method, const std::string& path) { served.insert(method + " " + path); });
    CHECK(served == described);
}
