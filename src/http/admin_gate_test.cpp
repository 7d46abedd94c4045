#include "http/admin_gate.h"

#include <string>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"

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
    unsigned act(const HttpRequest& asked) {
        const auto refusal = gate.refusal_of_action(asked);
        return refusal ? refusal->status : 200;
    }
    unsigned read(const HttpRequest& asked) {
        const auto refusal = gate.refusal_of_read(asked);
        return refusal ? refusal->status : 200;
    }
    AdminGate::Rules rules(bool token, bool loopback) {
        return {token, loopback, [](std::string_view given) { return given == "open-sesame"; }};
    }

    VirtualClock clock;
    AdminGate gate{clock, rules(true, true)};
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

TEST_CASE_FIXTURE(Gate, "fault 70: after ten wrong tokens an address waits for a minute, whatever it brings") {
    for (int i = 0; i < 10; ++i) {
        CHECK(act(request("Bearer wrong")) == 401);
        clock.advance(1s);
    }
    CHECK(act(request("Bearer wrong")) == 429);
    CHECK(act(request("Bearer open-sesame")) == 429);
    CHECK(gate.refusal_of_action(request("Bearer open-sesame"))->headers.at(0).name == "Retry-After");
    CHECK(act(request("Bearer open-sesame", "application/json", "10.0.0.2")) == 200);
    clock.advance(49'999ms);
    CHECK(act(request("Bearer open-sesame")) == 429);
    clock.advance(1ms);
    CHECK(act(request("Bearer open-sesame")) == 200);
    CHECK(gate.failures() == 10);
}

TEST_CASE_FIXTURE(Gate, "fault 70: who shows no token is refused but guesses nothing") {
    for (int i = 0; i < 50; ++i) CHECK(act(request("")) == 401);
    CHECK(act(request("Bearer open-sesame")) == 200);
    CHECK(gate.failures() == 50);
}

TEST_CASE_FIXTURE(Gate, "fault 70: addresses of one IPv6 network guess together") {
    for (int i = 0; i < 10; ++i)
        CHECK(act(request("Bearer wrong", "application/json", "2001:db8::" + std::to_string(i + 1))) == 401);
    CHECK(act(request("Bearer wrong", "application/json", "2001:db8::99")) == 429);
    CHECK(act(request("Bearer open-sesame", "application/json", "2001:db8:0:1::1")) == 200);
}

TEST_CASE_FIXTURE(Gate, "fault 70: guesses from very many addresses take bounded memory, and end") {
    const auto from = [](std::size_t i) {
        return "10." + std::to_string(i >> 16 & 255) + "." + std::to_string(i >> 8 & 255) + "." +
               std::to_string(i & 255);
    };
    for (std::size_t i = 0; i < AdminGate::addresses_max; ++i)
        CHECK(act(request("Bearer wrong", "application/json", from(i))) == 401);
    CHECK(act(request("Bearer open-sesame", "application/json", "192.0.2.1")) == 429);
    clock.advance(1min);
    CHECK(act(request("Bearer open-sesame", "application/json", "192.0.2.1")) == 200);
}
