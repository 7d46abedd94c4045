#include "agones/rest.h"

#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <doctest/doctest.h>

#include "agones/answer_json.h"

using namespace muster::agones;
namespace json = boost::json;

namespace {

// The call of a request that stands for one of this kind.
template <class Wanted>
Wanted asked(std::string_view method, std::string_view path, std::string_view body = "{}",
             std::string_view query = "") {
    const RestCall call = rest_call({method, path, query, body});
    INFO(path);
    REQUIRE(call);
    REQUIRE(std::holds_alternative<Call>(*call));
    REQUIRE(std::holds_alternative<Wanted>(std::get<Call>(*call)));
    return std::get<Wanted>(std::get<Call>(*call));
}

Code refused(std::string_view method, std::string_view path, std::string_view body = "") {
    const RestCall call = rest_call({method, path, "", body});
    INFO(path);
    REQUIRE(!call);
    return call.error().code;
}

}  // namespace

TEST_CASE("G-20: every path of the SDK stands for its call") {
    asked<Ready>("POST", "/ready");
    asked<Ready>("POST", "/ready", "");
    asked<Allocate>("POST", "/allocate");
    asked<Shutdown>("POST", "/shutdown");
    asked<HealthPing>("POST", "/health");
    asked<GetGameServer>("GET", "/gameserver", "");
    CHECK(asked<SetLabel>("PUT", "/metadata/label", R"({"key":"a","value":"b"})").value == "b");
    CHECK(asked<SetAnnotation>("PUT", "/metadata/annotation", R"({"key":"a","value":"b"})").key == "a");
    CHECK(asked<Reserve>("POST", "/reserve", R"({"seconds":"30"})").seconds == 30);
    CHECK(asked<PlayerConnect>("POST", "/alpha/player/connect", R"({"playerID":"p1"})").id == "p1");
    CHECK(asked<PlayerDisconnect>("POST", "/alpha/player/disconnect", R"({"playerID":"p1"})").id == "p1");
    CHECK(asked<SetPlayerCapacity>("PUT", "/alpha/player/capacity", R"({"count":8})").count == 8);
    asked<GetPlayerCapacity>("GET", "/alpha/player/capacity", "");
    asked<GetPlayerCount>("GET", "/alpha/player/count", "");
    asked<GetConnectedPlayers>("GET", "/alpha/player/connected", "");
    CHECK(asked<IsPlayerConnected>("GET", "/alpha/player/connected/a%20b", "").id == "a b");
    CHECK(asked<GetCounter>("GET", "/v1beta1/counters/rooms", "").name == "rooms");
    const auto counter = asked<UpdateCounter>("PATCH", "/v1beta1/counters/rooms", R"({"countDiff":"-2"})");
    CHECK(counter.name == "rooms");
    CHECK(counter.difference == -2);
    CHECK(!counter.count);
    CHECK(asked<UpdateCounter>("PATCH", "/v1beta1/counters/rooms", R"({"count":"0"})").count == 0);
    CHECK(asked<UpdateCounter>("PATCH", "/v1beta1/counters/rooms", R"({"capacity":7})").capacity == 7);
    CHECK(asked<GetList>("GET", "/v1beta1/lists/players", "").name == "players");
    CHECK(asked<AddListValue>("POST", "/v1beta1/lists/players:addValue", R"({"value":"x"})").value == "x");
    CHECK(asked<RemoveListValue>("POST", "/v1beta1/lists/players:removeValue", R"({"value":"x"})").name == "players");
    const RestCall watch = rest_call({"GET", "/watch/gameserver", "", ""});
    REQUIRE(watch);
    CHECK(std::holds_alternative<WatchGameServer>(*watch));
}

TEST_CASE("G-20: a list's mask is the query's, or what the body names") {
    const auto list = asked<UpdateList>("PATCH", "/v1beta1/lists/p", R"({"capacity":"9","values":["a"]})");
    CHECK(list.mask == std::vector<std::string>{"capacity", "values"});
    CHECK(list.list == List{9, {"a"}});
    CHECK(asked<UpdateList>("PATCH", "/v1beta1/lists/p", R"({"capacity":9})").mask ==
          std::vector<std::string>{"capacity"});
    CHECK(asked<UpdateList>("PATCH", "/v1beta1/lists/p", R"({"capacity":9})", "a=b&updateMask=values%2Ccapacity&x")
              .mask == std::vector<std::string>{"values", "capacity"});
}

TEST_CASE("G-20: numbers may be texts and fields unknown, and what is wrong is code 3") {
    CHECK(asked<Reserve>("POST", "/reserve", R"({"seconds":30,"extra":[{}]})").seconds == 30);
    CHECK(asked<Reserve>("POST", "/reserve", R"({"seconds":3e1})").seconds == 30);
    CHECK(asked<Reserve>("POST", "/reserve", R"({"seconds":null})").seconds == 0);
    CHECK(asked<Reserve>("POST", "/reserve", R"({"seconds":"-9223372036854775808"})").seconds < 0);
    for (const char* body : {"{", "[]", "1", "\"x\"", "null", R"({"seconds":"x"})", R"({"seconds":1.5})",
                             R"({"seconds":true})", R"({"seconds":18446744073709551615})", R"({"seconds":1e300})",
                             R"({"seconds":"9223372036854775808"})", R"({"seconds":""})", "{}{}", "\xff"})
        CHECK(refused("POST", "/reserve", body) == Code::invalid_argument);
    CHECK(refused("PUT", "/metadata/label", R"({"key":1})") == Code::invalid_argument);
    CHECK(refused("PATCH", "/v1beta1/lists/p", R"({"values":[1]})") == Code::invalid_argument);
    CHECK(refused("POST", "/reserve", std::string(60'000, '[')) == Code::invalid_argument);
    CHECK(refused("POST", "/health", "") == Code::invalid_argument);
}

TEST_CASE("G-20: an unknown path is 404 with code 5, another method 501 with code 12") {
    for (const char* path : {"/", "", "/readyy", "/ready/", "/v1beta1/counters/", "/v1beta1/lists/a/b",
                             "/gameserver%00", "/alpha/player/connected/%zz", "/v1beta1/lists/:addValue/"})
        CHECK(refused("POST", path) == Code::not_found);
    for (const char* path : {"/ready", "/health", "/metadata/label", "/v1beta1/lists/x:addValue"})
        CHECK(refused("DELETE", path) == Code::unimplemented);
    CHECK(http_status(Code::not_found) == 404);
    CHECK(http_status(Code::unimplemented) == 501);
    CHECK(http_status(Code::invalid_argument) == 400);
    CHECK(http_status(Code::unknown) == 500);
    CHECK(to_json(Refused{Code::not_found, "Not Found"}) == R"({"code":5,"message":"Not Found","details":[]})");
}

TEST_CASE("G-20: the object's JSON is snake_case, with int64 as text, and nothing left out") {
    GameServer server;
    server.name = "host-arena-1";
    server.created_at = 1'700'000'000;
    server.port = 7000;
    server.counters["rooms"] = {1, 4};
    server.lists["maps"] = {3, {}};
    server.labels["a"] = "b";
    const json::value value = json::parse(to_json(Answer{std::make_shared<const GameServer>(server)}));
    const auto& meta = value.at("object_meta");
    CHECK(meta.at("creation_timestamp") == "1700000000");
    CHECK(meta.at("resource_version") == "1");
    CHECK(meta.at("annotations") == json::object{});
    CHECK(meta.at("labels").at("a") == "b");
    CHECK(value.at("spec").at("health").at("period_seconds") == 5);
    const auto& status = value.at("status");
    CHECK(status.at("state") == "Scheduled");
    CHECK(status.at("players").is_null());
    CHECK(status.at("addresses") == json::array{});
    CHECK(status.at("ports").at(0).at("port") == 7000);
    CHECK(status.at("ports").at(0).at("name") == "default");
    CHECK(status.at("counters").at("rooms").at("capacity") == "4");
    CHECK(status.at("lists").at("maps").at("values") == json::array{});
    CHECK(json::parse(watch_json(server)).at("result") == value);
    CHECK(to_json(Answer{Empty{}}) == "{}");
    CHECK(to_json(Answer{Flag{true}}) == R"({"bool":true})");
    CHECK(to_json(Answer{Count{5}}) == R"({"count":"5"})");
    CHECK(to_json(Answer{PlayerIds{}}) == R"({"list":[]})");
}
