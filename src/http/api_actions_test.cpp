// What changes something: the API's actions, and the gate before them.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/request_id.h"
#include "http/api_fixture.h"
#include "protocol/error_texts.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(Asking, "O-2: a drain goes to the game with who asked, and its answer comes back") {
    add_servers(1);
    (void)send("GET", "/servers");
    made(1s);
    (void)send("GET", "/servers");
    CHECK(game.fleet_asked == 1);
    const auto answer = send("POST", "/servers/1/drain", R"({"draining":true})");
    REQUIRE(game.acts.size() == 1);
    CHECK(game.acts[0].who == "10.1.2.3");
    const auto* drain = std::get_if<action::Drain>(&game.acts[0].action);
    REQUIRE(drain);
    CHECK(drain->server == ServerId(1));
    CHECK(drain->draining);
    CHECK(drain->reason.empty());
    CHECK(answer->status == 0);
    api.acted(game.acts[0].number, {});
    CHECK(answer->status == 200);
    CHECK(answer->body == "{\"id\":1,\"draining\":true}\n");
    // Who acts sees what came of it: the view from before is not shown again.
    (void)send("GET", "/servers");
    CHECK(game.fleet_asked == 2);

    const auto missing = send("POST", "/servers/77/drain", R"({"draining":false,"reason":"done"})");
    CHECK(std::get<action::Drain>(game.acts[1].action).reason == "done");
    ActionOutcome none;
    none.kind = ActionOutcome::Kind::not_found;
    api.acted(game.acts[1].number, none);
    CHECK(missing->status == 404);
    CHECK(send("POST", "/servers/x/drain", R"({"draining":true})")->status == 400);
    CHECK(send("POST", "/servers/1/drain", R"({"draining":true,"now":1})")->status == 400);
    CHECK(send("POST", "/servers/1/drain", R"({"draining":true,"reason":7})")->status == 400);
    CHECK(send("POST", "/servers/1/drain", "draining=true")->status == 400);
    CHECK(send("POST", "/servers/1/drain", R"({"draining":true})", {})->status == 415);
    CHECK(send("GET", "/servers/1/drain")->status == 405);
    CHECK(game.acts.size() == 2);
}

TEST_CASE_FIXTURE(Asking, "O-2: an action and its answer carry the request's id, which is made when none is given") {
    const auto named = send("POST", "/servers/1/drain", R"({"draining":true})",
                            {{"Content-Type", "application/json"}, {"X-Request-Id", "order-42"}});
    const auto unnamed = send("POST", "/servers/1/drain", R"({"draining":true})");
    REQUIRE(game.acts.size() == 2);
    CHECK(game.acts[0].request_id == "order-42");
    CHECK(is_request_id(game.acts[1].request_id));
    for (const auto& act : game.acts) api.acted(act.number, {});
    CHECK(named->header("X-Request-Id") == "order-42");
    CHECK(unnamed->header("X-Request-Id") == game.acts[1].request_id);
    const auto odd = send("POST", "/servers/1/drain", R"({"draining":true})",
                          {{"Content-Type", "application/json"}, {"X-Request-Id", "two words"}});
    CHECK(odd->status == 400);
    CHECK(game.acts.size() == 2);
}

TEST_CASE_FIXTURE(Asking, "O-2: a region is drained, a server removed, all its matches aborted, as it was meant") {
    const auto drained = send("POST", "/regions/0/drain", R"({"draining":true,"reason":"move"})");
    const auto removed = send("POST", "/servers/7/remove", "");
    const auto aborted = send("POST", "/servers/7/abort", R"({"reason":"bad host"})");
    REQUIRE(game.acts.size() == 3);
    const auto& drain = std::get<action::DrainRegion>(game.acts[0].action);
    CHECK(drain.region.id == RegionId(0));
    CHECK(drain.region.name.empty());
    CHECK(drain.draining);
    CHECK(drain.reason == "move");
    CHECK(std::get<action::Remove>(game.acts[1].action).server == ServerId(7));
    CHECK(std::get<action::AbortAll>(game.acts[2].action).server == ServerId(7));
    CHECK(std::get<action::AbortAll>(game.acts[2].action).reason == "bad host");
    ActionOutcome many;
    many.count = 12;
    for (const auto& act : game.acts) api.acted(act.number, many);
    CHECK(drained->body == "{\"region\":0,\"draining\":true,\"servers\":12}\n");
    CHECK(removed->body == "{\"id\":7,\"removed\":true}\n");
    CHECK(aborted->body == "{\"id\":7,\"aborted\":12}\n");

    CHECK(send("POST", "/regions/128/drain", R"({"draining":true})")->status == 400);
    CHECK(send("POST", "/regions/-1/drain", R"({"draining":true})")->status == 400);
    CHECK(send("POST", "/servers/0/remove", "{}")->status == 400);
    CHECK(send("POST", "/servers/1/abort", R"({"why":"x"})")->status == 400);
    CHECK(game.acts.size() == 3);
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
    done.allocated = {LobbyId(5), ServerId(3), GameEndpoint{"10.0.0.1", 7777}, "MATCH_5_x_1", UnixMs{9}};
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
        outcome.refusal = why;
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

TEST_CASE_FIXTURE(Asking, "O-2, fault 5: an action that only waits for the disk is 504 in time, and says so") {
    using Kind = ActionOutcome::Kind;
    const auto begun = [this](const std::shared_ptr<ApiAnswer>& answer) {
        ActionOutcome outcome;
        outcome.kind = Kind::begun;
        api.acted(game.acts.back().number, outcome);
        CHECK(answer->status == 0);
        return game.acts.back().number;
    };
    const auto drain = send("POST", "/servers/1/drain", R"({"draining":true})");
    begun(drain);
    const auto stored = send("POST", "/servers/2/drain", R"({"draining":true})");
    api.acted(begun(stored), {});
    CHECK(stored->status == 200);
    clock.advance(5s);
    thread->turn();
    CHECK(drain->status == 504);
    CHECK(drain->body.find("The store did not confirm it in time") != std::string::npos);
    CHECK(drain->body.find("may still be done") != std::string::npos);
    CHECK_FALSE(drain->header("X-Request-Id").empty());
}

TEST_CASE_FIXTURE(Asking, "fault 70: the gate stands before every action, and before every read off loopback") {
    const auto right = [](std::string_view token) -> std::optional<TokenHolder> {
        if (token == "right") return TokenHolder{"admin", Role::admin};
        return std::nullopt;
    };
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

TEST_CASE_FIXTURE(Asking, "O-2: many servers are drained at once, by id and by address") {
    const auto answer = send(
        "POST", "/servers/drain",
        R"({"draining":true,"servers":[3,1,9],"addresses":["10.0.0.7","10.0.0.8:7777","[::1]:80","::2"],"reason":"rack"})");
    REQUIRE(game.acts.size() == 1);
    const auto& drain = std::get<action::DrainMany>(game.acts[0].action);
    CHECK(drain.draining);
    CHECK(drain.reason == "rack");
    CHECK(drain.servers == std::vector<ServerId>{ServerId(3), ServerId(1), ServerId(9)});
    REQUIRE(drain.addresses.size() == 4);
    CHECK(drain.addresses[0].ip.to_string() == "10.0.0.7");
    CHECK_FALSE(drain.addresses[0].port);
    CHECK(drain.addresses[1].port == 7777);
    CHECK(drain.addresses[2].ip.to_string() == "::1");
    CHECK(drain.addresses[2].port == 80);
    CHECK_FALSE(drain.addresses[3].port);
    ActionOutcome outcome;
    outcome.count = 4;
    outcome.missing = {9};
    api.acted(game.acts[0].number, outcome);
    CHECK(answer->body == "{\"draining\":true,\"servers\":4,\"missing\":[9]}\n");

    const auto none = send("POST", "/servers/drain", R"({"draining":false,"servers":[9]})");
    outcome.count = 0;
    api.acted(game.acts[1].number, outcome);
    CHECK(none->status == 404);

    for (const char* bad :
         {R"({"draining":true})", R"({"draining":true,"servers":[]})", R"({"draining":true,"servers":[0]})",
          R"({"draining":true,"servers":["1"]})", R"({"draining":true,"servers":7})", R"({"servers":[1]})",
          R"({"draining":true,"addresses":[7]})", R"({"draining":true,"addresses":["nobody"]})",
          R"({"draining":true,"addresses":["10.0.0.7:0"]})", R"({"draining":true,"addresses":["10.0.0.7:65536"]})",
          R"({"draining":true,"addresses":["[10.0.0.7]:80"]})", R"({"draining":true,"addresses":["[::1"]})"})
        CHECK_MESSAGE(send("POST", "/servers/drain", bad)->status == 400, bad);
    std::string many = "1";
    for (int i = 0; i < 5'000; ++i) many += ",1";
    CHECK(send("POST", "/servers/drain", "{\"draining\":true,\"servers\":[" + many + "]}")->status == 400);
    CHECK(game.acts.size() == 2);
}

TEST_CASE_FIXTURE(Asking, "A-8: a region is named by its number or its name") {
    (void)send("POST", "/matches", R"({"lobby_id":5,"region":"EU","player_count":10})");
    (void)send("POST", "/regions/EU/drain", R"({"draining":true})");
    REQUIRE(game.acts.size() == 2);
    CHECK(std::get<action::Allocate>(game.acts[0].action).region_name == "EU");
    CHECK(std::get<action::DrainRegion>(game.acts[1].action).region.name == "EU");
    for (const char* bad :
         {R"({"lobby_id":5,"region":"","player_count":10})", R"({"lobby_id":5,"player_count":10})",
          R"({"lobby_id":5,"region":128,"player_count":10})", R"({"lobby_id":5,"region":true,"player_count":10})"})
        CHECK_MESSAGE(send("POST", "/matches", bad)->status == 400, bad);
    CHECK(game.acts.size() == 2);
}

TEST_CASE_FIXTURE(Asking, "A-9: the accounts of a lobby are given over HTTP, and refused with their status") {
    const auto taken = send("PUT", "/matches/5/players", R"({"accounts":[7,9]})");
    const auto nobody = send("PUT", "/matches/6/players", R"({"accounts":[]})");
    REQUIRE(game.acts.size() == 2);
    const auto& list = std::get<action::Players>(game.acts[0].action);
    CHECK(list.lobby == LobbyId(5));
    CHECK(list.accounts == std::vector<AccountId>{AccountId(7), AccountId(9)});
    api.acted(game.acts[0].number, {});
    CHECK(taken->body == "{\"lobby_id\":5,\"accounts\":2}\n");
    ActionOutcome refused;
    refused.kind = ActionOutcome::Kind::refused;
    refused.refusal = Refusal::invalid_match_lobby_id;
    api.acted(game.acts[1].number, refused);
    CHECK(nobody->status == 409);
    for (const char* bad : {"{}", R"({"accounts":[0]})", R"({"accounts":"7"})", R"({"accounts":[7],"x":1})"})
        CHECK_MESSAGE(send("PUT", "/matches/5/players", bad)->status == 400, bad);
    CHECK(game.acts.size() == 2);
}

TEST_CASE_FIXTURE(Asking, "O-2: a matchmaker's token asks for matches and does nothing else") {
    gate.set_rules({true, true, [](std::string_view token) -> std::optional<TokenHolder> {
                        if (token == "match-me") return TokenHolder{"matchmaker", Role::matchmaker};
                        return std::nullopt;
                    }});
    const std::vector<HttpHeader> headers{{"Content-Type", "application/json"}, {"Authorization", "Bearer match-me"}};
    const auto status = [&](const char* method, const char* path, const char* body) {
        return send(method, path, body, headers)->status;
    };
    (void)status("POST", "/matches", R"({"lobby_id":5,"region":2,"player_count":10})");
    (void)status("PUT", "/matches/5/players", R"({"accounts":[7]})");
    (void)status("POST", "/matches/5/abort", "{}");
    CHECK(game.acts.size() == 3);
    for (const auto& act : game.acts) CHECK(act.role == Role::matchmaker);
    for (const auto& [method, path] : {std::pair{"POST", "/servers/1/drain"},
                                       {"POST", "/servers/drain"},
                                       {"POST", "/servers/1/remove"},
                                       {"POST", "/servers/1/abort"},
                                       {"POST", "/regions/0/drain"},
                                       {"POST", "/players/7/kick"},
                                       {"PUT", "/clock"}})
        CHECK_MESSAGE(status(method, path, "{}") == 403, path);
    CHECK(game.acts.size() == 3);
}
