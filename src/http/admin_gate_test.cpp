#include "http/admin_gate.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"
#include "testing/kept_lines.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Gate {
    HttpRequest request(std::string_view authorization, std::string_view type = "application/json",
                        std::string_view from = "10.0.0.1") {
        HttpRequest made;
        if (!authorization.empty()) made.headers.push_back({"Authorization", std::string(authorization)});
        if (!type.empty()) made.headers.push_back({"Content-Type", std::string(type)});
        made.peer = *IpAddress::parse(from);
        return made;
    }
    // The status of the refusal; 200 when there is none.
    unsigned act(HttpRequest asked, Right right = Right::operate) {
        const auto refusal = gate.refusal_of_action(asked, right);
        return refusal ? refusal->status : 200;
    }
    unsigned read(HttpRequest asked) {
        const auto refusal = gate.refusal_of_read(asked);
        return refusal ? refusal->status : 200;
    }
    AdminGate::Rules rules(bool token, bool loopback) {
        return {token, loopback, [](std::string_view given) -> std::optional<TokenHolder> {
                    if (given == "open-sesame") return TokenHolder{"admin", Role::admin};
                    if (given == "operate") return TokenHolder{"alice", Role::operate};
                    if (given == "match-me") return TokenHolder{"matchmaker", Role::matchmaker};
                    if (given == "look") return TokenHolder{"bob", Role::viewer};
                    return std::nullopt;
                }};
    }

    // How long the answer is held back.
    Duration delay(HttpRequest asked) { return gate.refusal_of_action(asked).value().held_back; }

    VirtualClock clock;
    KeptLines sink;
    Log log{clock, sink};
    AdminGate gate{clock, log, rules(true, true)};
};

}  // namespace

TEST_CASE_FIXTURE(Gate, "fault 70: with a token, actions need it, and reads too when not on loopback") {
    CHECK(act(request("Bearer open-sesame")) == 200);
    CHECK(act(request("bearer open-sesame")) == 200);
    CHECK(act(request("")) == 401);
    CHECK(act(request("Bearer wrong")) == 401);
    CHECK(act(request("Basic open-sesame")) == 401);
    CHECK(act(request("Bearer open-sesame ")) == 401);
    CHECK(read(request("")) == 200);
    gate.set_rules(rules(true, false));
    CHECK(read(request("")) == 401);
    CHECK(read(request("Bearer open-sesame")) == 200);
    CHECK(act(request("Bearer open-sesame")) == 200);
}

TEST_CASE_FIXTURE(Gate, "S-2, S-5: an operator's certificate does for a token, with that operator's role") {
    auto by_name = rules(true, false);
    by_name.holder_named = [](std::string_view name) -> std::optional<TokenHolder> {
        if (name == "bob") return TokenHolder{"bob", Role::viewer};
        if (name == "alice") return TokenHolder{"alice", Role::operate};
        return std::nullopt;
    };
    gate.set_rules(by_name);
    const auto shown = [&](const char* name, std::string_view token = "") {
        HttpRequest made = request(token);
        made.shown_name = name;
        return made;
    };
    CHECK(read(shown("bob")) == 200);
    CHECK(act(shown("bob")) == 403);
    CHECK(act(shown("alice")) == 200);
    CHECK(act(shown("alice"), Right::administer) == 403);
    CHECK(read(shown("eve")) == 401);
    CHECK(read(shown("")) == 401);
    HttpRequest asked = shown("alice");
    CHECK_FALSE(gate.refusal_of_action(asked));
    CHECK(asked.operator_name == "alice");
    // A token that is given is the one that counts.
    CHECK(act(shown("alice", "Bearer look")) == 403);
    CHECK(act(shown("alice", "Bearer wrong")) == 401);
    CHECK(act(shown("bob", "Bearer open-sesame")) == 200);
}

TEST_CASE_FIXTURE(Gate, "S-2, S-5: an operator's certificate introduces it, also on loopback, where nobody needs one") {
    auto by_name = rules(true, true);
    by_name.holder_named = [](std::string_view name) -> std::optional<TokenHolder> {
        if (name == "alice") return TokenHolder{"alice", Role::operate};
        return std::nullopt;
    };
    gate.set_rules(by_name);
    HttpRequest alice = request("");
    alice.shown_name = "alice";
    CHECK_FALSE(gate.refusal_of_introduction(alice));
    CHECK(alice.operator_name == "alice");
    CHECK(alice.role == Role::operate);
    // A token that is given is the one that counts.
    HttpRequest both = request("Bearer open-sesame");
    both.shown_name = "alice";
    CHECK_FALSE(gate.refusal_of_introduction(both));
    CHECK(both.operator_name != "alice");
    // One that is no operator's is nobody, and may look as anybody may.
    HttpRequest eve = request("");
    eve.shown_name = "eve";
    CHECK_FALSE(gate.refusal_of_introduction(eve));
    CHECK(eve.operator_name.empty());
    CHECK(eve.role == Role::viewer);
    by_name.on_loopback = false;
    gate.set_rules(by_name);
    CHECK(gate.refusal_of_introduction(eve));
}

TEST_CASE_FIXTURE(Gate, "fault 70: without a token everything is allowed on loopback, and no action elsewhere") {
    gate.set_rules(rules(false, true));
    CHECK(act(request("")) == 200);
    CHECK(read(request("")) == 200);
    gate.set_rules(rules(false, false));
    CHECK(act(request("")) == 401);
}

TEST_CASE_FIXTURE(Gate, "fault 70: an action needs a JSON content type, which no form can send") {
    CHECK(act(request("Bearer open-sesame", "application/json; charset=utf-8")) == 200);
    CHECK(act(request("Bearer open-sesame", "Application/JSON")) == 200);
    CHECK(act(request("Bearer open-sesame", "")) == 415);
    CHECK(act(request("Bearer open-sesame", "text/plain")) == 415);
    CHECK(act(request("Bearer open-sesame", "application/jsonp")) == 415);
    CHECK(act(request("Bearer open-sesame", "application/x-www-form-urlencoded")) == 415);
    // The token is judged first: who has none learns nothing else.
    CHECK(act(request("", "text/plain")) == 401);
}

TEST_CASE_FIXTURE(Gate,
                  "S-4: from the tenth wrong token a minute on answers are held back, and the right one never is") {
    for (int i = 1; i <= 9; ++i) CHECK(delay(request("Bearer wrong")) == 0s);
    for (int i = 1; i <= 20; ++i) CHECK(delay(request("Bearer wrong")) == i * 1s);
    CHECK(act(request("Bearer open-sesame")) == 200);
    CHECK(delay(request("Bearer wrong", "application/json", "10.0.0.2")) == 0s);
    clock.advance(1min);
    CHECK(delay(request("Bearer wrong")) == 0s);
    CHECK(gate.failures() == 31);
    CHECK(gate.wrong_tokens() == 31);
}

TEST_CASE_FIXTURE(Gate, "S-4: wrong tokens are told once a minute by address, without the token") {
    for (int i = 0; i < 5; ++i) act(request("Bearer wrong"));
    act(request("Bearer wrong", "application/json", "10.0.0.2"));
    CHECK(sink.lines == std::vector<std::string>{"Wrong admin token port=http peer=10.0.0.1",
                                                 "Wrong admin token port=http peer=10.0.0.2"});
    clock.advance(1min);
    act(request("Bearer wrong"));
    CHECK(sink.lines.size() == 3);
}

TEST_CASE_FIXTURE(Gate, "fault 70: who shows no token is refused but guesses nothing") {
    for (int i = 0; i < 50; ++i) CHECK(act(request("")) == 401);
    CHECK(act(request("Bearer open-sesame")) == 200);
    CHECK(gate.failures() == 50);
    CHECK(gate.wrong_tokens() == 0);
    CHECK(delay(request("Bearer wrong")) == 0s);
}

TEST_CASE_FIXTURE(Gate, "O-2: a token may do what its role has the right to, and 403 says which role it takes") {
    CHECK(act(request("Bearer match-me"), Right::allocate) == 200);
    CHECK(act(request("Bearer match-me"), Right::operate) == 403);
    CHECK(act(request("Bearer look"), Right::allocate) == 403);
    CHECK(act(request("Bearer open-sesame"), Right::allocate) == 200);
    gate.set_rules(rules(true, false));
    CHECK(read(request("Bearer look")) == 200);
    CHECK(read(request("Bearer match-me")) == 200);
    HttpRequest asked = request("Bearer match-me");
    CHECK(gate.refusal_of_action(asked)->body.find("This token's role is matchmaker; this needs operator") !=
          std::string::npos);
    CHECK(asked.role == Role::matchmaker);
    // It guessed nothing.
    CHECK(gate.failures() == 0);
}

TEST_CASE_FIXTURE(Gate, "O-2: without a token on loopback everybody is admin") {
    gate.set_rules(rules(false, true));
    HttpRequest asked = request("");
    CHECK_FALSE(gate.refusal_of_action(asked));
    CHECK(asked.role == Role::admin);
}

TEST_CASE_FIXTURE(Gate, "S-5: each role may do what it may, and a role that does not suffice gets 403") {
    struct Row {
        std::string_view token;
        unsigned read, allocate, operate, administer;
    };
    gate.set_rules(rules(true, false));
    for (const Row& row : {Row{"Bearer look", 200, 403, 403, 403}, Row{"Bearer match-me", 200, 200, 403, 403},
                           Row{"Bearer operate", 200, 200, 200, 403}, Row{"Bearer open-sesame", 200, 200, 200, 200},
                           Row{"Bearer nobody", 401, 401, 401, 401}, Row{"", 401, 401, 401, 401}}) {
        CAPTURE(row.token);
        CHECK(read(request(row.token)) == row.read);
        CHECK(act(request(row.token), Right::allocate) == row.allocate);
        CHECK(act(request(row.token), Right::operate) == row.operate);
        CHECK(act(request(row.token), Right::administer) == row.administer);
    }
    HttpRequest asked = request("Bearer look");
    const auto refusal = gate.refusal_of_action(asked, Right::administer);
    REQUIRE(refusal.has_value());
    CHECK(refusal->body.find("This token's role is viewer; this needs admin") != std::string::npos);
}

TEST_CASE_FIXTURE(Gate, "S-5: the gate notes whose token it was") {
    HttpRequest asked = request("Bearer operate");
    CHECK_FALSE(gate.refusal_of_action(asked).has_value());
    CHECK(asked.operator_name == "alice");
    CHECK(asked.role == Role::operate);
}

TEST_CASE_FIXTURE(Gate, "S-5: metrics need a viewer off loopback, unless they are open") {
    const auto metrics = [this](std::string_view token) {
        HttpRequest asked = request(token);
        const auto refusal = gate.refusal_of_metrics(asked);
        return refusal ? refusal->status : 200;
    };
    CHECK(metrics("") == 200);
    gate.set_rules(rules(true, false));
    CHECK(metrics("") == 401);
    CHECK(metrics("Bearer look") == 200);
    AdminGate::Rules open = rules(true, false);
    open.open_metrics = true;
    gate.set_rules(open);
    CHECK(metrics("") == 200);
}

TEST_CASE_FIXTURE(Gate, "S-5: a forwarded request is not from this machine, whatever the listener") {
    HttpRequest asked = request("");
    asked.is_forwarded = true;
    CHECK(read(asked) == 401);
    gate.set_rules(rules(false, true));
    CHECK(read(asked) == 401);
    CHECK(act(asked) == 401);
    asked.is_forwarded = false;
    CHECK(read(asked) == 200);
    CHECK(act(asked) == 200);
}

TEST_CASE_FIXTURE(Gate, "S-5: who introduces itself with a wrong token hears so, also where none is needed") {
    const auto introduced = [this](std::string_view token) {
        HttpRequest asked = request(token);
        const auto refusal = gate.refusal_of_introduction(asked);
        return refusal ? std::to_string(refusal->status)
                       : asked.operator_name + "/" + std::string(to_string(asked.role));
    };
    CHECK(introduced("") == "/viewer");
    CHECK(introduced("Bearer operate") == "alice/operator");
    CHECK(introduced("Bearer wrong") == "401");
    gate.set_rules(rules(false, true));
    CHECK(introduced("") == "/admin");
}

TEST_CASE_FIXTURE(Gate, "S-5: who was let in is let in no more once the token opens nothing") {
    gate.set_rules(rules(true, false));
    CHECK(gate.still_admits(request("Bearer look")));
    CHECK_FALSE(gate.still_admits(request("Bearer gone")));
    CHECK_FALSE(gate.still_admits(request("Bear")));
    CHECK_FALSE(gate.still_admits(request("")));
    CHECK(gate.wrong_tokens() == 0);
    gate.set_rules(rules(false, false));
    CHECK_FALSE(gate.still_admits(request("Bearer look")));
    gate.set_rules(rules(true, true));
    CHECK(gate.still_admits(request("")));
}
