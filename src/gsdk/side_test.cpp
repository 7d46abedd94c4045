#include "gsdk/side.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "base/no_log.h"
#include "base/seeded_entropy.h"
#include "base/system_clock.h"
#include "testing/loopback_peer.h"
#include "testing/test_folder.h"

using namespace muster;
using namespace muster::gsdk;
namespace json = boost::json;
using Kind = SdkFact::Kind;

namespace {

struct GsdkSideFixture {
    SystemClock clock;
    NoLog sink;
    Log log{clock, sink};
    LoopbackServer loopback{clock, log};
    SeededEntropy entropy{3};
    std::atomic<int> woken{0};
    TestFolder folder;
    Services services{loopback, clock, entropy, log, [this] { ++woken; }};
    std::map<std::string, std::string> environment;

    Side make() {
        return Side(Process{},
                    Place{"host", "arena", "arena-1", "0", "203.0.113.7", 7001, 1, folder.path().string(), "/tmp"},
                    services);
    }
    void begin(Side& side) {
        for (auto& each : side.begin_life(clock.now(), "life")) environment[each.name] = each.value;
        REQUIRE(environment.contains("HEARTBEAT_ENDPOINT"));
    }
    std::uint16_t port() {
        const std::string endpoint = environment.at("HEARTBEAT_ENDPOINT");
        return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.find(':') + 1)));
    }
    std::string path() { return "/v1/sessionHosts/" + environment.at("SESSION_HOST_ID"); }
};

}  // namespace

TEST_CASE_FIXTURE(GsdkSideFixture, "G-30: a life has a config file, an endpoint and both heartbeat verbs") {
    Side side = make();
    begin(side);
    std::stringstream file;
    file << std::ifstream(environment.at("GSDK_CONFIG_FILE")).rdbuf();
    const json::value config = json::parse(file.str());
    CHECK(config.at("sessionHostId").as_string() == environment.at("SESSION_HOST_ID"));
    CHECK(config.at("heartbeatEndpoint").as_string() == environment.at("HEARTBEAT_ENDPOINT"));
    for (const char* name : {"GSDK_LOG_FOLDER", "PF_TITLE_ID", "PF_BUILD_ID", "PF_REGION", "PF_SERVER_INSTANCE_NUMBER",
                             "PF_SERVER_LOG_DIRECTORY"})
        CHECK(environment.contains(name));

    LoopbackPeer game(port());
    CHECK(game.ask("POST", "/v1/metrics/" + environment.at("SESSION_HOST_ID") + "/gsdkinfo", "{}").find(" 200 ") !=
          std::string::npos);
    const std::string standing_by =
        R"({"CurrentGameState":"StandingBy","CurrentGameHealth":"Healthy","CurrentPlayers":null})";
    CHECK(game.ask("PATCH", path(), standing_by).find(R"({"operation":"Continue","nextHeartbeatIntervalMs":1000})") !=
          std::string::npos);
    CHECK(woken == 1);
    auto facts = side.take_facts(clock.now());
    REQUIRE(facts.size() == 1);
    CHECK(facts[0].kind == Kind::ready);

    side.offer(clock.now(), {LobbyId{4}, 0, 0, "cookie"});
    CHECK(game.ask("POST", path() + "/heartbeats", standing_by).find(R"("sessionCookie":"cookie")") !=
          std::string::npos);
    facts = side.take_facts(clock.now());
    REQUIRE(facts.size() == 1);
    CHECK(facts[0].kind == Kind::accepted);
}

TEST_CASE_FIXTURE(GsdkSideFixture, "G-30: a known id never gets an HTTP error, an unknown one gets 404") {
    Side side = make();
    begin(side);
    LoopbackPeer game(port());
    for (const char* body : {"", "garbage", "[]", "{\"CurrentGameState\":null}"})
        CHECK(game.ask("PATCH", path(), body).find(" 200 ") != std::string::npos);
    CHECK(game.ask("PATCH", "/v1/sessionHosts/another", "{}").find(" 404 ") != std::string::npos);
    for (const char* verb : {"GET", "PUT", "POST", "DELETE", "BREW"}) {
        const std::string answer = game.ask(verb, path(), "{\"CurrentGameState\":\"Terminated\"}");
        CHECK(answer.find(" 200 ") != std::string::npos);
        CHECK(answer.find("\"Continue\"") != std::string::npos);  // it is no heartbeat
    }
    CHECK(side.take_facts(clock.now()).empty());
    LoopbackPeer large(port());
    large.send("PATCH " + path() + " HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n");
    const std::string answer = large.read_all();
    CHECK(answer.find(" 200 ") != std::string::npos);
    CHECK(answer.find("\"Continue\"") != std::string::npos);
    LoopbackPeer stranger(port());
    stranger.send("PATCH /v1/sessionHosts/another HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n");
    CHECK(stranger.read_all().find(" 413 ") != std::string::npos);
    side.end_life(clock.now());
    CHECK(side.saved().empty());
    CHECK(!std::ifstream(environment.at("GSDK_CONFIG_FILE")).good());
}

TEST_CASE_FIXTURE(GsdkSideFixture, "G-7: another agent serves the same GSDK process on the same port") {
    std::string saved;
    {
        Side side = make();
        begin(side);
        LoopbackPeer(port()).ask("PATCH", path(), R"({"CurrentGameState":"StandingBy"})");
        saved = side.saved();
    }
    Side next = make();
    next.restore(clock.now(), "life", saved);
    const auto facts = next.take_facts(clock.now());
    CHECK(facts.empty());
    CHECK(LoopbackPeer(port()).ask("PATCH", path(), R"({"CurrentGameState":"StandingBy"})").find("Continue") !=
          std::string::npos);
    Side other = make();
    other.restore(clock.now(), "life", "garbage");
    REQUIRE(other.take_facts(clock.now()).size() == 1);
}
