#include "protocol/json_view.h"

#include <limits>

#include <doctest/doctest.h>

#include "protocol/messages.h"
#include "protocol/sample_frames.h"

using namespace muster;

TEST_CASE("W-4: a message's JSON has the names of the wire, in its order") {
    CHECK(to_json(ServerHeartbeat{ServerId{42}, 3, 45.2F, 62.8F}) ==
          R"({"server_id":42,"match_count":3,"cpu":45.2,"memory":62.8})");
    CHECK(to_json(PingRequest{}) == "{}");
    CHECK(to_json(AllocateMatchAck{true, LobbyId{5}}) == R"({"success":true,"lobby_id":5})");
    CHECK(to_json(MatchmakerHeartbeatAck{.time = UnixMs{9}}) == R"({"success":true,"time_ms":9})");
}

TEST_CASE("W-4: an answer's JSON says which form it has") {
    CHECK(to_json(ServerHeartbeatAck{ServerHeartbeatAck::Accepted{UnixMs{1'705'123'456'789}}}) ==
          R"({"success":true,"time_ms":1705123456789})");
    CHECK(to_json(MatchResponse{LobbyRefused{LobbyId{5}, "Match not found"}}) ==
          R"({"success":false,"lobby_id":5,"error":"Match not found"})");
}

TEST_CASE("W-4: lists and enums are readable in JSON") {
    CHECK(to_json(MatchPlayers{LobbyId{5}, {{AccountId{7}, AccountId{8}}}}) == R"({"lobby_id":5,"account_ids":[7,8]})");
    CHECK(to_json(MatchmakerHandshakeResponse{MatchmakerHandshakeResponse::Accepted{
              UnixMs{1}, {{AvailableServer{ServerId{42}, {"::1", 28'000}, RegionId{2}, 20}}}}}) ==
          R"({"success":true,"time_ms":1,"servers":[{"id":42,"ip":"::1","port":28000,"region":2,"max_matches":20}]})");
    CHECK(to_json(ServerStatusNotice{ServerId{42}, ServerStatus::draining}) ==
          R"({"server_id":42,"status":"draining"})");
    CHECK(to_json(MatchEventNotice{LobbyId{5}, MatchEventKind::ended, ""}) ==
          R"({"lobby_id":5,"event":"ended","reason":""})");
    CHECK(to_json(TimeChange{TimeUnit::day, 2}) == R"({"update_type":"day","value":2})");
}

TEST_CASE("fault 44, fault 45: NaN and hostile text leave the JSON whole") {
    CHECK(to_json(ServerHeartbeat{ServerId{1}, 0, std::numeric_limits<float>::quiet_NaN(),
                                  -std::numeric_limits<float>::infinity()}) ==
          R"({"server_id":1,"match_count":0,"cpu":null,"memory":null})");
    CHECK(to_json(AbortMatch{LobbyId{1}, "<b>\"\n"}) == "{\"lobby_id\":1,\"reason\":\"\\u003cb\\u003e\\\"\\n\"}");
}

TEST_CASE("K-3, fault 69: no secret of any message stands whole in its JSON") {
    const std::string match = "MATCH_12345_f7a3b9c2-4d1e-4f6a-9b2c-3e4f5a6b7c8d_1705123456";
    const auto shown = [](const auto& message, std::string_view secret) {
        return to_json(message).find(secret) != std::string::npos;
    };
    CHECK_FALSE(shown(ServerHandshake{.token = "server-secret"}, "server-secret"));
    CHECK_FALSE(shown(MatchmakerHandshake{.token = "matchmaker-secret"}, "matchmaker-secret"));
    CHECK_FALSE(shown(PlayerLogin{.credential = "v1.QWw.7.1705123456.c2ln"}, "c2ln"));
    CHECK_FALSE(shown(PlayerLogin{.resume_token = "resume-secret"}, "resume-secret"));
    CHECK_FALSE(
        shown(PlayerLoginResponse{PlayerLoginResponse::Accepted{AccountId{7}, "resume-secret"}}, "resume-secret"));
    for (const std::string_view secret : {std::string_view(match), std::string_view(match).substr(12)}) {
        CHECK_FALSE(shown(AllocateMatch{.token = match}, secret));
        CHECK_FALSE(shown(ReadyForMatch{.token = match}, secret));
        CHECK_FALSE(shown(ValidateToken{.token = match}, secret));
        CHECK_FALSE(shown(AllocationResponse{AllocationResponse::Accepted{{}, {}, {}, match, {}}}, secret));
        CHECK_FALSE(shown(PlayerMatchStart{.token = match}, secret));
    }
    CHECK(shown(AllocateMatch{.token = match}, R"("token":"MATCH_12345_…")"));
    CHECK(shown(PlayerLogin{.resume_token = ""}, R"("resume_token":"")"));
}

namespace {

// Told a layout, finds texts that would be shown whole although their name says that they are secret.
class SecretFinder {
public:
    template <TextField T>
    void operator()(std::string_view name, const T&) {
        const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
        const bool secret = has("token") || has("credential");
        if (secret) {
            ++secrets;
            CHECK(T::shown != Shown::whole);
        }
    }
    template <ScalarField T>
    void operator()(std::string_view, const T&) {}
    template <class Count, class T>
    void operator()(std::string_view, const List<Count, T>&) {
        const T item{};
        tell_part(item, *this);
    }
    template <class Accepted, class Refused>
    void operator()(std::string_view, const Either<Accepted, Refused>&) {
        const Accepted yes{};
        const Refused no{};
        tell_part(yes, *this);
        tell_part(no, *this);
    }

    int secrets = 0;
};

}  // namespace

TEST_CASE("fault 69: every field that is named a token or a credential is masked") {
    SecretFinder finder;
    for_each_message([&]<class M>() {
        CAPTURE(M::name);
        const M message{};
        M::layout(message, finder);
    });
    CHECK(finder.secrets == 11);
}

TEST_CASE("W-4: every message at its edges has a JSON view") {
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        const std::string json = sample.json(sample.payload(), sample.order);
        REQUIRE(json.size() >= 2);
        REQUIRE(json.front() == '{');
        REQUIRE(json.back() == '}');
    }
}
