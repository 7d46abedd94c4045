#include "core/wrong_secrets.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Guessing : CoreWorld {
    // A new connection that tries this token.
    ConnectionId server(std::string_view token, std::string_view from = "10.0.0.9") {
        const ConnectionId link = connect(Port::servers, from);
        send(link, ServerHandshake{HandshakeTokenText(token), {"10.0.0.9", next_port_++}, eu, 10});
        return link;
    }
    // The link was told that its token is wrong, and closed.
    bool told(ConnectionId link) {
        if (quiet(link)) return false;
        CHECK(error_of(next<ServerHandshakeResponse>(link)) == "Invalid token");
        CHECK(closed(link));
        return true;
    }
    bool let_in(ConnectionId link) {
        return !quiet(link) && error_of(next<ServerHandshakeResponse>(link)).empty() && !closed(link);
    }
    std::size_t lines_about(std::string_view what) const {
        return static_cast<std::size_t>(
            std::count_if(log_lines.lines.begin(), log_lines.lines.end(),
                          [&](const std::string& line) { return line.find(what) != line.npos; }));
    }

private:
    std::int32_t next_port_ = 2'000;
};

}  // namespace

TEST_CASE_FIXTURE(Guessing, "S-4, fault 49: the tenth wrong token of an address in a minute is answered later") {
    for (int i = 0; i < 9; ++i) CHECK(told(server("guess")));
    const ConnectionId tenth = server("guess");
    CHECK_FALSE(told(tenth));
    CHECK_FALSE(closed(tenth));
    advance(WrongSecrets::hold_back - 1ms);
    CHECK_FALSE(told(tenth));
    advance(1ms);
    CHECK(told(tenth));
    CHECK(core->wrong_secrets().count(Port::servers) == 10);
    CHECK(core->fleet().size() == 0);
}

TEST_CASE_FIXTURE(Guessing, "S-4, fault 49: the right token is let in at once, also from the address that guesses") {
    for (int i = 0; i < 50; ++i) server("guess");
    CHECK(let_in(server("server-secret")));
    CHECK(told(server("guess", "10.0.0.8")));
    CHECK(let_in(server("server-secret", "10.0.0.8")));
}

TEST_CASE_FIXTURE(Guessing, "S-4: after a minute an address is answered at once again") {
    for (int i = 0; i < 20; ++i) server("guess");
    advance(AddressMinutes::window - 1ms);
    CHECK_FALSE(told(server("guess")));
    advance(1ms);
    CHECK(told(server("guess")));
}

TEST_CASE_FIXTURE(Guessing, "S-4: an address is told once a minute, with what it did in the minute before") {
    for (int i = 0; i < 30; ++i) server("guess");
    server("guess", "10.0.0.8");
    CHECK(lines_about("Wrong server token from 10.0.0.9") == 1);
    CHECK(lines_about("Wrong server token from 10.0.0.8") == 1);
    advance(AddressMinutes::window);
    server("guess");
    CHECK(lines_about("Wrong server token from 10.0.0.9") == 2);
    CHECK(lines_about("wrong_in_the_minute_before=30") == 1);
    CHECK(lines_about("guess") == 0);
}

TEST_CASE_FIXTURE(Guessing, "S-4: a link whose answer is held back is heard no more, and may leave before it") {
    for (int i = 0; i < 10; ++i) server("guess");
    const ConnectionId waits = server("guess");
    const ConnectionId leaves = server("guess");
    send(waits, ServerHandshake{"server-secret", {"10.0.0.9", 3'000}, eu, 10});
    in_pass([&](const Pass& pass) { core->gave_up(pass, waits, LinkFault::handshake_deadline); });
    CHECK(quiet(waits));
    disconnect(leaves);
    advance(WrongSecrets::hold_back);
    CHECK(told(waits));
    CHECK(quiet(leaves));
    CHECK(core->fleet().size() == 0);
}

TEST_CASE_FIXTURE(Guessing, "S-4: matchmakers' tokens and players' credentials are counted and slowed alike") {
    for (int i = 0; i < 12; ++i) {
        const ConnectionId matchmaker = connect(Port::matchmakers, "10.0.0.7");
        send(matchmaker, MatchmakerHandshake{"guess", "chat-1", {{eu}}});
        CHECK(quiet(matchmaker) == (i >= 9));
        const ConnectionId player = connect(Port::players, "10.0.0.6");
        send(player, PlayerLogin{"ann", "wrong", ""});
        CHECK(quiet(player) == (i >= 9));
    }
    advance(WrongSecrets::hold_back);
    CHECK(core->wrong_secrets().count(Port::matchmakers) == 12);
    CHECK(core->wrong_secrets().count(Port::players) == 12);
    CHECK(core->wrong_secrets().count(Port::servers) == 0);
    CHECK(lines_about("Wrong matchmaker token from 10.0.0.7") == 1);
    CHECK(lines_about("Wrong player credential from 10.0.0.6") == 1);
}
