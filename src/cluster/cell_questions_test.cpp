#include "cluster/cell_questions.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

CellQuestion asks(std::string method, std::string path) {
    HttpRequest request;
    request.method = std::move(method);
    request.path = "/api/v1/" + std::move(path);
    return cell_question_of(request);
}

CellAnswer says(std::string cell, std::string body, unsigned status = 200) {
    return {std::move(cell), HttpResponse{status, "application/json", std::move(body)}};
}

const CellQuestion servers{CellQuestion::Kind::list, "servers", "id"};

}  // namespace

TEST_CASE("N-11: a list is asked of all cells, an action of the cell that knows, an allocation of its region's") {
    using Kind = CellQuestion::Kind;
    CHECK(asks("GET", "servers") == servers);
    CHECK(asks("GET", "matches") == CellQuestion{Kind::list, "matches", "lobby_id"});
    CHECK(asks("GET", "hosts") == CellQuestion{Kind::list, "hosts", "name"});
    CHECK(asks("POST", "matches").kind == Kind::region);
    CHECK(asks("PUT", "matches/7/players").kind == Kind::all);
    for (const char* path : {"servers/7", "matches/7", "players/7", "hosts/h"})
        CHECK(asks("GET", path).kind == Kind::find);
    for (const char* path : {"servers/7/drain", "matches/7/abort", "players/7/kick", "regions/2/drain"})
        CHECK(asks("POST", path).kind == Kind::find);
    CHECK(asks("GET", "operators").kind == Kind::first);
    CHECK(asks("POST", "blocks/remove").kind == Kind::first);
    CHECK(asks("GET", "me").kind == Kind::first);
    CHECK(asks("GET", "overview").kind == Kind::overview);
    CHECK(asks("GET", "overview/history").kind == Kind::history);
    CHECK(asks("GET", "events").kind == Kind::events);
    CHECK(asks("POST", "servers/drain").kind == Kind::drain);
    CHECK(asks("GET", "clock").kind == Kind::first);
    CHECK(asks("PUT", "clock").kind == Kind::first);
    // Which says that there is no such thing, or not by this verb.
    CHECK(asks("GET", "meow").kind == Kind::first);
    CHECK(asks("POST", "overview").kind == Kind::first);
    CHECK(region_in_body(R"({"region":2,"lobby":1})") == "2");
    CHECK(region_in_body(R"({"region":"EU"})") == "EU");
    CHECK_FALSE(region_in_body("{"));
    CHECK_FALSE(region_in_body(R"({"region":[]})"));
}

TEST_CASE("N-11: rows of all cells become one list by ascending key, as they stood, and paged as one") {
    const std::string eu = R"({"servers":[{"id":3,"cpu":10.50,"x":"a}\"]"},{"id":9,"l":[1,{"id":0}]}],"next":null})";
    const std::string us = R"({"servers":[{"id":5}],"next":null})";
    CHECK(merged_lists(servers, 100, {says("eu", eu), says("us", us)}).body ==
          R"({"servers":[{"id":3,"cpu":10.50,"x":"a}\"]"},{"id":5},{"id":9,"l":[1,{"id":0}]}],"next":null})"
          "\n");
    CHECK(merged_lists(servers, 2, {says("eu", eu), says("us", us)}).body ==
          R"({"servers":[{"id":3,"cpu":10.50,"x":"a}\"]"},{"id":5}],"next":5})"
          "\n");
    // A cell that told less than it has: nothing beyond its last row is told of the others.
    const std::string more = R"({"servers":[{"id":1},{"id":2}],"next":2})";
    CHECK(merged_lists(servers, 100, {says("eu", eu), says("us", more)}).body ==
          R"({"servers":[{"id":1},{"id":2}],"next":2})"
          "\n");
    const CellQuestion matchmakers{CellQuestion::Kind::list, "matchmakers", "id"};
    CHECK(merged_lists(matchmakers, 1,
                       {says("eu", R"({"matchmakers":[{"id":"b"}],"next":null})"),
                        says("us", R"({"matchmakers":[{"id":"a"}],"next":"a"})")})
              .body == "{\"matchmakers\":[{\"id\":\"a\"}],\"next\":\"a\"}\n");
    // One that is in both is told once.
    CHECK(merged_lists(matchmakers, 9,
                       {says("eu", R"({"matchmakers":[{"id":"b"}],"next":null})"),
                        says("us", R"({"matchmakers":[{"id":"b"}],"next":null})")})
              .body == "{\"matchmakers\":[{\"id\":\"b\"}],\"next\":null}\n");
}

TEST_CASE("N-11: a list that a cell is missing in says so, and which") {
    const std::string us = R"({"servers":[{"id":5}],"next":null})";
    CHECK(merged_lists(servers, 100, {{"eu", std::nullopt}, says("us", us)}).body ==
          "{\"servers\":[{\"id\":5}],\"next\":null,\"partial\":true,\"missing_cells\":[\"eu\"]}\n");
    CHECK(merged_lists(servers, 100, {says("eu", "{}", 503), says("us", us)}).body.find("[\"eu\"]") !=
          std::string::npos);
    CHECK(merged_lists(servers, 100, {{"eu", std::nullopt}, {"us", std::nullopt}}).status == 503);
    // A refusal is the same of all cells.
    CHECK(merged_lists(servers, 100, {says("eu", "no", 401), says("us", "no", 401)}).status == 401);
    CHECK(merged_lists(servers, 100, {says("eu", "no JSON"), says("us", us)}).status == 503);
}

TEST_CASE("N-11: an action is answered by the cell that knows what it is about") {
    CHECK(found_answer({says("eu", "", 404), says("us", "done")}).body == "done");
    CHECK(found_answer({says("eu", "", 404), says("us", "", 404)}).status == 404);
    CHECK(found_answer({says("eu", "", 404), {"us", std::nullopt}}).status == 503);
    CHECK(found_answer({says("eu", "done"), {"us", std::nullopt}}).body == "done");
    CHECK(joint_answer({says("eu", "yes"), says("us", "yes")}).body == "yes");
    CHECK(joint_answer({says("eu", "yes"), says("us", "no", 409)}).status == 409);
    CHECK(joint_answer({says("eu", "yes"), {"us", std::nullopt}}).status == 503);
}

TEST_CASE("N-11: servers of several cells are drained together, and missing is what no cell knows") {
    const auto drained = [](const char* eu, const char* us) { return merged_drains({says("eu", eu), says("us", us)}); };
    CHECK(drained(R"({"draining":true,"servers":2,"missing":[7,8]})",
                  R"({"draining":true,"servers":1,"missing":[1,2,8]})")
              .body == "{\"draining\":true,\"servers\":3,\"missing\":[8]}\n");
    // A cell that knows none of them.
    CHECK(merged_drains({says("eu", R"({"draining":false,"servers":2,"missing":[8]})"), says("us", "", 404)}).body ==
          "{\"draining\":false,\"servers\":2,\"missing\":[8]}\n");
    CHECK(merged_drains({says("eu", "", 404), says("us", "", 404)}).status == 404);
    CHECK(merged_drains({says("eu", "", 400), says("us", "", 400)}).status == 400);
    // Whoever asked must ask again.
    CHECK(merged_drains({says("eu", R"({"draining":true,"servers":2,"missing":[]})"), {"us", std::nullopt}}).status ==
          503);
    CHECK(drained("no JSON", "{}").status == 503);
}
