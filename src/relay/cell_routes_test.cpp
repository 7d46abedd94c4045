#include "relay/cell_routes.h"

#include <doctest/doctest.h>

#include "protocol/host_messages.h"
#include "relay/relay_fixture.h"

using namespace muster;

namespace {

std::vector<RegionId> regions_of(std::initializer_list<int> ids) {
    std::vector<RegionId> all;
    for (const int id : ids) all.emplace_back(static_cast<std::int8_t>(id));
    return all;
}

struct Placing {
    static constexpr CellNumber eu = 0;
    static constexpr CellNumber people_0 = 1;
    static constexpr CellNumber people_1 = 2;
    static constexpr CellNumber us = 3;

    template <Message M>
    CellNumber place_of(const M& message) {
        return routes.of_first_frame(M::port, M::code, payload_of(message), default_byte_order(M::port));
    }
    template <Message M>
    MatchmakerRoute route_of(const M& message) {
        return routes.of_matchmaker_frame(M::code, payload_of(message), ByteOrder::little);
    }

    const CellRoutes routes{{{"eu", regions_of({2, 9}), false},
                             {"people-0", regions_of({}), true},
                             {"people-1", regions_of({}), true},
                             {"us", regions_of({0, 1}), false}}};
};

}  // namespace

TEST_CASE_FIXTURE(Placing, "N-7: a game server and a host belong to the cell of their region") {
    ServerHandshake server;
    HostHello host;
    for (const auto& [region, cell] : {std::pair{0, us}, {1, us}, {2, eu}, {9, eu}}) {
        server.region = host.region = RegionId(static_cast<std::int8_t>(region));
        CHECK(place_of(server) == cell);
        CHECK(place_of(host) == cell);
    }
    // No cell has it: the first one says so.
    server.region = RegionId(77);
    CHECK(place_of(server) == eu);
}

TEST_CASE_FIXTURE(Placing, "N-7: a player belongs to the FNV-1a hash of its name's bytes, which never changes") {
    CHECK(name_hash("") == 0xCBF29CE484222325);
    CHECK(name_hash("a") == 0xAF63DC4C8601EC8C);
    CHECK(name_hash("foobar") == 0x85944171F73967E8);
    CHECK(name_hash("\xC3\xA9") == 0x0AC21707B7181E01);  // bytes above 127 are no negative numbers
    PlayerLogin login;
    for (const char* name : {"a", "foobar", "Anna", "Bo"}) {
        login.player_name = NameText(name);
        CHECK(place_of(login) == (name_hash(name) % 2 == 0 ? people_0 : people_1));
    }
}

TEST_CASE_FIXTURE(Placing, "N-7: one whose first frame cannot be read is refused by the first cell for its port") {
    const std::vector<std::byte> none;
    CHECK(routes.of_first_frame(Port::servers, ServerHandshake::code, none, ByteOrder::little) == eu);
    CHECK(routes.of_first_frame(Port::servers, 7, none, ByteOrder::little) == eu);
    CHECK(routes.of_first_frame(Port::players, PlayerLogin::code, none, ByteOrder::little) == people_0);
    CHECK(routes.of_matchmaker_frame(CancelMatch::code, none, ByteOrder::little) == MatchmakerRoute{});
    CHECK(routes.of_matchmaker_frame(AllocationRequest::code, none, ByteOrder::little) == MatchmakerRoute{});
    const std::vector<std::byte> one(1);
    CHECK(routes.of_matchmaker_frame(MatchmakerHeartbeat::code, one, ByteOrder::little) == MatchmakerRoute{});
    CHECK(routes.of_matchmaker_frame(7, none, ByteOrder::little) == MatchmakerRoute{});
}

TEST_CASE_FIXTURE(Placing,
                  "N-7: a matchmaker's request goes by its region, all else that it says to every cell with regions") {
    using To = MatchmakerRoute::To;
    CHECK(routes.with_regions() == std::vector<CellNumber>{eu, us});
    AllocationRequest request = asks_for(1);
    request.region = RegionId(1);
    CHECK(route_of(request) == MatchmakerRoute{To::cell, us});
    request.region = RegionId(9);
    CHECK(route_of(request) == MatchmakerRoute{To::cell, eu});
    CHECK(route_of(MatchmakerHandshake{}).to == To::all);
    CHECK(route_of(MatchmakerHeartbeat{}).to == To::all);
    CHECK(route_of(CancelMatch{LobbyId(3)}).to == To::all);
    CHECK(route_of(MatchPlayers{}).to == To::all);
}

TEST_CASE("N-7: one cell with everything has everybody") {
    const CellRoutes one({RoutedCell{}});
    CHECK(one.of_region(RegionId(100)) == 0);
    CHECK(one.of_player("anybody") == 0);
    CHECK(one.name(0) == "main");
}
