#include "core/core.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

TEST_CASE("an allocation goes from the request to the end") {
    CoreWorld world;
    const TestServer server = join(world, 7777);
    const ConnectionId matchmaker = join_matchmaker(world);

    world.send(matchmaker, request_for(12345));
    const auto offer = world.next<AllocateMatch>(server.link);
    CHECK(offer.lobby == LobbyId(12345));
    CHECK(offer.token.view().starts_with("MATCH_12345_"));
    CHECK(world.quiet(matchmaker));

    world.send(server.link, AllocateMatchAck{true, offer.lobby});
    const auto answer = world.next<AllocationResponse>(matchmaker);
    const auto& accepted = std::get<AllocationResponse::Accepted>(answer.answer);
    CHECK(accepted.server == server.id);
    CHECK(accepted.endpoint.ip == "10.0.0.1");
    CHECK(accepted.endpoint.port == 7777);
    CHECK(accepted.token == offer.token);

    world.send(server.link, ReadyForMatch{server.id, offer.lobby, offer.token});
    CHECK(error_of(world.next<ReadyForMatchResponse>(server.link)) == "");
    CHECK(world.next<MatchEventNotice>(matchmaker).event == MatchEventKind::ready);

    world.send(server.link, ValidateToken{server.id, offer.lobby, AccountId(7), offer.token});
    CHECK(error_of(world.next<ValidateTokenResponse>(server.link)) == "");

    world.send(server.link, MatchStartedReport{server.id, offer.lobby});
    CHECK(error_of(world.next<MatchResponse>(server.link)) == "");
    CHECK(world.next<MatchEventNotice>(matchmaker).event == MatchEventKind::started);

    world.send(server.link, MatchEndedReport{server.id, offer.lobby});
    CHECK(error_of(world.next<MatchResponse>(server.link)) == "");
    CHECK(world.next<MatchEventNotice>(matchmaker).event == MatchEventKind::ended);
    CHECK(world.core->fleet().find(server.id)->load() == 0);
    CHECK(world.core->matches().size() == 0);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "O-2: a server that an operator removes is told, its matches fall through, and it may come anew") {
    const auto server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 5);
    in_pass([&](const Pass& pass) {
        CHECK(core->remove_server(pass, server.id));
        CHECK_FALSE(core->remove_server(pass, server.id));
    });
    CHECK(next<MatchEventNotice>(matchmaker).reason.view() == "Aborted by operator");
    CHECK(next<ServerError>(server.link).error.view() == "Aborted by operator");
    CHECK(closed(server.link));
    disconnect(server.link);
    CHECK(core->fleet().size() == 0);
    CHECK(join(*this, 7777).id != server.id);
}
