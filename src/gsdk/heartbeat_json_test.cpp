#include "gsdk/heartbeat_json.h"

#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <doctest/doctest.h>

using namespace muster;
using namespace muster::gsdk;
namespace json = boost::json;

TEST_CASE("G-30: heartbeats of the C++, C#, Unity and Java clients are read") {
    // C++: jsoncpp, players null until there are some.
    auto beat = heartbeat_of(
        "{\"CurrentGameHealth\":\"Healthy\",\"CurrentGameState\":\"StandingBy\",\"CurrentPlayers\":null}\n");
    REQUIRE(beat);
    CHECK(beat->state == GameState::standing_by);
    CHECK(beat->healthy);
    CHECK(beat->players == 0);
    // C#: Newtonsoft with the class's own names.
    beat = heartbeat_of(
        R"({"CurrentGameState":"Active","CurrentGameHealth":"Unhealthy","CurrentPlayers":[{"PlayerId":"a"},{"PlayerId":"b"}]})");
    REQUIRE(beat);
    CHECK(beat->state == GameState::active);
    CHECK(!beat->healthy);
    CHECK(beat->players == 2);
    // Unity: camelCase.
    beat = heartbeat_of(R"({"currentGameState":"Terminating","currentGameHealth":"","currentPlayers":[]})");
    REQUIRE(beat);
    CHECK(beat->state == GameState::terminating);
    CHECK(beat->healthy);
    // Java: Gson leaves null fields out.
    beat = heartbeat_of(R"({"currentGameState":"Initializing"})");
    REQUIRE(beat);
    CHECK(beat->state == GameState::initializing);
    CHECK(beat->healthy);
}

TEST_CASE("G-30: what is no heartbeat is seen as none, and odd values mean nothing") {
    for (const char* body : {"", "{", "[]", "null", "7", "\"Active\"", "\xff", "{}{}"}) CHECK(!heartbeat_of(body));
    const auto beat =
        heartbeat_of(R"({"CurrentGameState":7,"CurrentGameHealth":[],"CurrentPlayers":"x","More":{"a":[1]}})");
    REQUIRE(beat);
    CHECK(beat->state == GameState::initializing);
    CHECK(beat->healthy);
    CHECK(game_state_named("standingby") == GameState::standing_by);
    CHECK(game_state_named("Quarantined") == GameState::initializing);
}

TEST_CASE("G-30: an answer always has operation and interval, and Active a session") {
    CHECK(to_json(HeartbeatAnswer{}) == R"({"operation":"Continue","nextHeartbeatIntervalMs":1000})");
    CHECK(to_json(HeartbeatAnswer{Operation::terminate, nullptr}) ==
          R"({"operation":"Terminate","nextHeartbeatIntervalMs":1000})");
    SessionConfig config{"guid", "cookie\"", LobbyId{5}, 1, 2, {}};
    const json::value value = json::parse(to_json(HeartbeatAnswer{Operation::active, &config}));
    CHECK(value.at("operation") == "Active");
    CHECK(value.at("nextHeartbeatIntervalMs") == 1000);
    CHECK(value.at("sessionConfig").at("sessionId") == "guid");
    CHECK(value.at("sessionConfig").at("sessionCookie") == "cookie\"");
    CHECK(value.at("sessionConfig").at("initialPlayers") == json::array{});
    CHECK(value.at("sessionConfig").at("metadata").at("muster.dev/lobby") == "5");
    config.initial_players = {AccountId(7), AccountId(8)};
    const json::value listed = json::parse(to_json(HeartbeatAnswer{Operation::active, &config}));
    CHECK(listed.at("sessionConfig").at("initialPlayers") == json::array{"7", "8"});
}

TEST_CASE("G-30: the config file has every key, and no map is null") {
    ConfigFile file;
    file.heartbeat_endpoint = "127.0.0.1:45000";
    file.session_host_id = "id";
    file.address = "203.0.113.7";
    file.port = 7001;
    const json::value value = json::parse(to_json(file));
    CHECK(value.at("heartbeatEndpoint") == "127.0.0.1:45000");
    CHECK(value.at("sessionHostId") == "id");
    for (const char* map : {"gameCertificates", "buildMetadata", "gamePorts", "gameServerConnectionInfo"})
        CHECK(value.at(map).is_object());
    for (const char* text : {"vmId", "logFolder", "sharedContentFolder", "certificateFolder", "publicIpV4Address",
                             "fullyQualifiedDomainName"})
        CHECK(value.at(text).is_string());
    CHECK(value.at("gamePorts").at("default") == "7001");
    CHECK(value.at("serverInstanceNumber") == 0);
    const auto& info = value.at("gameServerConnectionInfo");
    CHECK(info.at("publicIpV4Adress") == "203.0.113.7");
    CHECK(info.at("publicIpV4Address") == "203.0.113.7");
    CHECK(info.at("gamePortsConfiguration").at(0).at("serverListeningPort") == 7001);
    CHECK(info.at("gamePortsConfiguration").at(0).at("clientConnectionPort") == 7001);
}
