#include "sdk/src/validations.h"

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sdk/src/game_server_fixture.h"

namespace muster::sdk {

namespace {

using namespace std::chrono_literals;
using Codes = std::vector<ErrorCode>;

struct ValidationFixture : GameServerFixture {
    void validate(int account, std::string_view token = "token") {
        server.validate(LobbyId{5}, AccountId{account}, token,
                        [this](const Outcome& outcome) { codes.push_back(outcome.code); });
    }
    void let_in(int account) {
        muster.say(
            ValidateTokenResponse{ValidateTokenResponse::Accepted{muster::LobbyId(5), muster::AccountId(account)}});
    }
    void refuse(int account, Refusal refusal) {
        muster.say(ValidateTokenResponse{
            ValidateTokenResponse::Refused{muster::LobbyId(5), muster::AccountId(account), text(refusal)}});
    }

    Codes codes;
};

}  // namespace

TEST_CASE_FIXTURE(ValidationFixture, "K-2: a player's token is judged by Muster, and the verdict comes once") {
    joined();
    validate(1001, "abc");
    const auto asked = muster.heard<ValidateToken>();
    CHECK(asked.server.value == 42);
    CHECK(asked.lobby.value == 5);
    CHECK(asked.account.value == 1001);
    CHECK(asked.token == "abc");
    CHECK(codes.empty());
    let_in(1001);
    CHECK(codes == Codes{ErrorCode::none});
    let_in(1001);
    CHECK(codes.size() == 1);

    validate(1002);
    validate(1003);
    refuse(1003, Refusal::match_token_expired);
    refuse(1002, Refusal::invalid_match_token);
    CHECK(codes == Codes{ErrorCode::none, ErrorCode::match_token_expired, ErrorCode::invalid_match_token});
}

TEST_CASE_FIXTURE(ValidationFixture, "fault 67: a token that can be none is refused here, later and without asking") {
    joined();
    validate(1, std::string(257, 'x'));
    validate(2, "\xff\xfe");
    CHECK(codes.empty());  // never from within the call
    muster.advance(0s);
    CHECK(codes == Codes{ErrorCode::invalid_match_token, ErrorCode::invalid_match_token});
    CHECK(muster.silent());
    validate(3, std::string(256, 'x'));
    CHECK(muster.heard<ValidateToken>().token.size() == 256);
}

TEST_CASE_FIXTURE(ValidationFixture, "K-3: a token without an answer when the link breaks is asked again on the next") {
    joined();
    validate(1);
    muster.lose();
    validate(2);
    CHECK(codes.empty());
    muster.advance(1s);
    muster.connect();
    greet();
    CHECK(muster.heard<ValidateToken>().account.value == 1);
    CHECK(muster.heard<ValidateToken>().account.value == 2);
    beat();
    let_in(1);
    refuse(2, Refusal::match_token_already_used);
    CHECK(codes == Codes{ErrorCode::none, ErrorCode::match_token_already_used});
}

TEST_CASE_FIXTURE(ValidationFixture, "K-3: already used is no plain no when an earlier answer was lost") {
    joined();
    validate(1);
    muster.reconnect();
    greet();
    refuse(1, Refusal::match_token_already_used);
    CHECK(codes == Codes{ErrorCode::answer_lost});
}

TEST_CASE_FIXTURE(ValidationFixture,
                  "K-2: without an answer for 10 s the player is told, and a late answer changes nothing") {
    joined();
    validate(1);
    muster.advance(9'999ms);
    CHECK(codes.empty());
    muster.advance(1ms);
    CHECK(codes == Codes{ErrorCode::no_answer});
    // The answer to the first question is not taken for that to the second.
    validate(1);
    refuse(1, Refusal::match_token_expired);
    CHECK(codes.size() == 1);
    let_in(1);
    CHECK(codes == Codes{ErrorCode::no_answer, ErrorCode::none});
}

TEST_CASE("K-2: the 10 s of a token that came before the server was ever driven start when it is") {
    Codes codes;
    GameServer server(GameServerFixture::options(), {});
    server.validate(LobbyId{5}, AccountId{1}, "token", [&](const Outcome& outcome) { codes.push_back(outcome.code); });
    TestLink<Port::servers> muster(server);
    muster.advance(9'999ms);
    CHECK(codes.empty());
    muster.advance(1ms);
    CHECK(codes == Codes{ErrorCode::no_answer});
}

TEST_CASE_FIXTURE(ValidationFixture,
                  "K-2: an unregistered link judges no token, and it is asked again after registering") {
    joined();
    validate(1);
    muster.forget();
    refuse(1, Refusal::server_not_registered);
    CHECK(codes.empty());
    CHECK(muster.dropped());
    muster.reconnect();
    greet(43);
    CHECK(muster.heard<ValidateToken>().server.value == 43);
    let_in(1);
    CHECK(codes == Codes{ErrorCode::none});
}

TEST_CASE_FIXTURE(ValidationFixture, "invariant 18: no more tokens wait than the limit") {
    for (std::size_t i = 0; i <= Validations::waiting_max; ++i) validate(static_cast<int>(i));
    muster.advance(0s);
    CHECK(codes == Codes{ErrorCode::too_many_requests});
    server.validate(LobbyId{5}, AccountId{1}, "token", {});  // nobody wants to know: fine too
    muster.advance(20s);
    CHECK(codes.size() == Validations::waiting_max + 1);
}

}  // namespace muster::sdk
