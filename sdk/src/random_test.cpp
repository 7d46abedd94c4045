// Clients under random peers, networks and users: what must hold whatever happens.
#include "base/random.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "muster/game_server.h"
#include "muster/matchmaker.h"
#include "muster/player.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/server_messages.h"
#include "sdk/src/test_link.h"

namespace muster::sdk {

namespace {

using namespace std::chrono_literals;

constexpr int lobbies = 8;
constexpr int steps = 300;

int seeds() {
    return std::getenv("MUSTER_TEST_LONG") ? 20'000 : 200;
}

std::string_view some_refusal(Random& random) {
    constexpr std::string_view all[] = {"Match not found",       "Server not allocated to this match",
                                        "Server busy",           "Match token already used",
                                        "Server not registered", "Invalid match token",
                                        "Store unavailable",     "Words of a later version"};
    return all[random.below(std::size(all))];
}

// Connects, loses and garbles the link as chance will have it.
template <Port port>
void disturb(TestLink<port>& muster, Random& random) {
    if (muster.dropped()) return muster.lose();
    if (muster.wanted()) {
        if (random.chance(0.8)) return muster.connect();
        return muster.lose();  // refused
    }
    if (random.chance(0.02)) {
        std::vector<std::byte> garbage(random.below(40));
        for (std::byte& byte : garbage) byte = static_cast<std::byte>(random.next());
        muster.say_bytes(garbage);
    }
    if (random.chance(0.05)) muster.lose();
}

// A user of a game server who writes down what it believes, and a Muster that says what it likes.
class RandomServer {
public:
    explicit RandomServer(std::uint64_t seed) : random_(seed) {}

    void step() {
        const muster::LobbyId lobby(static_cast<std::int32_t>(1 + random_.below(lobbies)));
        const LobbyId ours{lobby.value};
        switch (random_.below(12)) {
            case 0:
                return muster_.advance(std::chrono::milliseconds(random_.below(12'000)));
            case 1:
                return say(AllocateMatch{.lobby = lobby, .token = std::to_string(random_.below(3))});
            case 2:
                return say(AbortMatch{lobby, "Cancelled"});
            case 3:
                CHECK(server_.ready(ours) >= held_.contains(ours));
                return;
            case 4:
                CHECK(server_.start(ours) >= held_.contains(ours));
                return;
            case 5:
                CHECK(server_.end(ours) >= held_.contains(ours));
                held_.erase(ours);
                return;
            case 6:
                return validate(ours);
            case 7:
                return server_.drain(random_.chance(0.3));
            case 8:
                server_.answer(ours, random_.chance(0.5) ? OfferAnswer::accept : OfferAnswer::decline);
                return;
            default:
                disturb(muster_, random_);
                while (muster_.next([this](const auto& message) { reply(message); })) continue;
        }
    }

    void check() {
        CHECK(server_.match_count() <= 3);
        for (const LobbyId lobby : held_) CHECK(server_.holds(lobby));
        int count = 0;
        for (int lobby = 1; lobby <= lobbies; ++lobby) count += server_.holds(LobbyId{lobby}) ? 1 : 0;
        CHECK(count == server_.match_count());
    }

    void finish() {
        server_.goodbye();
        muster_.forget();
        muster_.lose();
        muster_.advance(GameServerOptions{}.goodbye_timeout);  // what it waits for never comes
        CHECK(judged_ == asked_);
        CHECK_FALSE(server_.leaving());
        CHECK_FALSE(server_.next_tick());
    }

private:
    OfferAnswer offered(const Offer& offer) {
        CHECK_FALSE(held_.contains(offer.lobby));
        if (random_.chance(0.2)) return OfferAnswer::decline;
        if (random_.chance(0.2)) return OfferAnswer::later;
        held_.insert(offer.lobby);
        return OfferAnswer::accept;
    }

    void validate(LobbyId lobby) {
        ++asked_;
        const AccountId account{static_cast<std::int32_t>(random_.below(3))};
        auto once = std::make_shared<bool>(false);
        server_.validate(lobby, account, "0", [this, once](const Outcome&) {
            CHECK_FALSE(std::exchange(*once, true));
            ++judged_;
        });
    }

    template <Message M>
    void say(const M& message) {
        if (!muster_.wanted() && !muster_.dropped() && server_.wants_connection()) muster_.say(message);
    }
    void reply(const ServerHandshake&) {
        const auto id = muster::ServerId(static_cast<std::int32_t>(1 + random_.below(3)));
        if (random_.chance(0.1)) return say(ServerHandshakeResponse{Refused{"Server already registered"}});
        say(ServerHandshakeResponse{ServerHandshakeResponse::Accepted{id, UnixMs{1'700'000'000'000}}});
    }
    void reply(const ServerHeartbeat&) {
        if (random_.chance(0.1)) return;
        if (random_.chance(0.05)) return say(ServerHeartbeatAck{Refused{some_refusal(random_)}});
        say(ServerHeartbeatAck{ServerHeartbeatAck::Accepted{UnixMs{1'700'000'000'000}}});
    }
    void reply(const ReadyForMatch& message) { reply_to_lobby<ReadyForMatchResponse>(message.lobby); }
    void reply(const MatchStartedReport& message) { reply_to_lobby<MatchResponse>(message.lobby); }
    void reply(const MatchEndedReport& message) { reply_to_lobby<MatchResponse>(message.lobby); }
    template <class Response>
    void reply_to_lobby(muster::LobbyId lobby) {
        if (random_.chance(0.1)) return;
        if (random_.chance(0.2)) return say(Response{LobbyRefused{lobby, some_refusal(random_)}});
        say(Response{LobbyAccepted{lobby}});
    }
    void reply(const ValidateToken& message) {
        if (random_.chance(0.1)) return;
        if (random_.chance(0.5)) {
            return say(ValidateTokenResponse{ValidateTokenResponse::Accepted{message.lobby, message.account}});
        }
        say(ValidateTokenResponse{
            ValidateTokenResponse::Refused{message.lobby, message.account, some_refusal(random_)}});
    }
    void reply(const auto&) {}

    Random random_;
    std::set<LobbyId> held_;  // accepted in the offer's callback, and neither ended nor aborted since
    int asked_ = 0;
    int judged_ = 0;
    GameServer server_{{.ip = "10.0.0.7", .port = 27015, .max_matches = 3},
                       {.on_offer = [this](const Offer& offer) { return offered(offer); },
                        .on_abort = [this](LobbyId lobby, std::string_view) { held_.erase(lobby); }}};
    TestLink<Port::servers> muster_{server_};
};

class RandomMatchmaker {
public:
    explicit RandomMatchmaker(std::uint64_t seed) : random_(seed) {}

    void step() {
        const int lobby = static_cast<int>(1 + random_.below(lobbies));
        switch (random_.below(8)) {
            case 0:
                return muster_.advance(std::chrono::milliseconds(random_.below(20'000)));
            case 1:
                return request(lobby);
            case 2:
                return matchmaker_.cancel(LobbyId{lobby});
            case 3:
                return list(lobby);
            case 4:
                return say(MatchEventNotice{muster::LobbyId(lobby),
                                            static_cast<muster::MatchEventKind>(1 + random_.below(4)), "Cancelled"});
            default:
                disturb(muster_, random_);
                while (muster_.next([this](const auto& message) { reply(message); })) continue;
        }
    }
    void check() {
        CHECK(answered_ <= asked_);
        CHECK(matchmaker_.requests_waiting() <= static_cast<std::size_t>(lobbies));
    }
    void finish() {
        muster_.lose();
        muster_.advance(31s);  // nothing waits for longer
        CHECK(answered_ == asked_);
        CHECK(matchmaker_.requests_waiting() == 0);
        matchmaker_.close();
        muster_.advance(1s);
        CHECK_FALSE(matchmaker_.next_tick());
    }

private:
    void request(int lobby) {
        ++asked_;
        const Time by = muster_.now() + 30s;
        auto once = std::make_shared<bool>(false);
        matchmaker_.request({.lobby = LobbyId{lobby}, .player_count = 1}, [this, once, by](const Allocation&) {
            CHECK_FALSE(std::exchange(*once, true));
            CHECK(muster_.now() <= by);
            ++answered_;
        });
    }
    void list(int lobby) {
        ++asked_;
        auto once = std::make_shared<bool>(false);
        const std::vector<AccountId> accounts(random_.below(130));
        matchmaker_.players(LobbyId{lobby}, accounts, [this, once](const Outcome&) {
            CHECK_FALSE(std::exchange(*once, true));
            ++answered_;
        });
    }

    template <Message M>
    void say(const M& message) {
        if (!muster_.wanted() && !muster_.dropped() && matchmaker_.wants_connection()) muster_.say(message);
    }
    void reply(const MatchmakerHandshake&) {
        if (random_.chance(0.1)) return say(MatchmakerHandshakeResponse{Refused{"Chat Server already registered"}});
        say(MatchmakerHandshakeResponse{MatchmakerHandshakeResponse::Accepted{UnixMs{1'700'000'000'000}, {}}});
    }
    void reply(const MatchmakerHeartbeat&) {
        if (random_.chance(0.8)) say(MatchmakerHeartbeatAck{.time = UnixMs{1'700'000'000'000}});
    }
    void reply(const AllocationRequest& message) {
        if (random_.chance(0.2)) return;
        if (random_.chance(0.3)) return say(AllocationResponse{LobbyRefused{message.lobby, some_refusal(random_)}});
        say(AllocationResponse{AllocationResponse::Accepted{.lobby = message.lobby,
                                                            .server = muster::ServerId(1),
                                                            .endpoint = {.ip = "10.0.0.7", .port = 27015},
                                                            .token = "token",
                                                            .time = {}}});
    }
    void reply(const CancelMatch& message) {
        if (random_.chance(0.8)) say(MatchEventNotice{message.lobby, muster::MatchEventKind::aborted, "Cancelled"});
    }
    void reply(const MatchPlayers& message) {
        if (random_.chance(0.8)) say(MatchPlayersResponse{LobbyAccepted{message.lobby}});
    }

    Random random_;
    int asked_ = 0;
    int answered_ = 0;
    Matchmaker matchmaker_{{.matchmaker_id = "chat-1", .regions = {RegionId{2}}}, {}};
    TestLink<Port::matchmakers> muster_{matchmaker_};
};

// A player, and a Muster that says what it likes. Each link must begin with a login, and no more than one request for a
// ping be under way, after the first of Muster's.
class RandomPlayer {
public:
    explicit RandomPlayer(std::uint64_t seed) : random_(seed) { player_.seed_jitter(seed); }

    void step() {
        hear();
        const auto number = static_cast<std::uint8_t>(random_.below(70));
        switch (random_.below(14)) {
            case 0:
                return muster_.advance(std::chrono::milliseconds(random_.below(50'000)));
            case 1:
                return player_.login(random_.chance(0.8) ? "ann" : "bob", "secret");
            case 2:
                if (random_.chance(0.2)) player_.logout();
                return;
            case 3:
                player_.request_ping();
                player_.activity();
                player_.send(static_cast<std::uint16_t>(990 + number), {});
                return;
            case 4:
                return say(TimeUpdate{.day = static_cast<std::uint8_t>(number % 10), .hour = number, .minute = number});
            case 5:
                return say(TimeChange{static_cast<TimeUnit>(1 + number % 3), number});
            case 6:
                if (random_.chance(0.2)) say(ServerClose{random_.chance(0.5) ? "Kicked" : "Server shutting down"});
                return;
            case 7:
                ping_asked_ = false;
                return say(PingReply{});
            case 8:
                return say(EntityHeartbeat{number});
            case 9:
                return say(ClockSyncReply{static_cast<std::int64_t>(random_.next()),
                                          static_cast<std::int64_t>(random_.next()),
                                          static_cast<std::int64_t>(random_.next())});
            case 10:
                return say(Ping{});
            default: {
                const bool was = connected();
                disturb(muster_, random_);
                if (!was && connected()) greeted_ = pinged_ = ping_asked_ = false;
            }
        }
    }
    void check() {
        const auto time = player_.world_time();
        if (time) CHECK((time->day >= 1 && time->day <= 7 && time->hour <= 23 && time->minute <= 59));
        CHECK((player_.link_state() != LinkState::online || player_.id()));
    }
    void finish() {
        player_.logout();
        muster_.forget();
        muster_.lose();
        muster_.advance(1s);
        CHECK_FALSE(player_.next_tick());
        CHECK_FALSE(player_.wants_connection());
    }

private:
    bool connected() const { return !muster_.wanted() && player_.wants_connection(); }
    void hear() {
        while (muster_.next([this](const auto& message) { reply(message); })) continue;
    }

    template <Message M>
    void say(const M& message) {
        if (connected()) muster_.say(message);
    }
    void reply(const PlayerLogin&) {
        CHECK_FALSE(std::exchange(greeted_, true));
        if (random_.chance(0.1)) return say(PlayerLoginResponse{Refused{"Credential expired"}});
        if (random_.chance(0.1)) return say(PlayerLoginResponse{Refused{"Server shutting down"}});
        say(PlayerLoginResponse{PlayerLoginResponse::Accepted{muster::AccountId(7), "token"}});
    }
    void reply(const PingEcho&) {
        CHECK(greeted_);
        pinged_ = true;
    }
    void reply(const PingRequest&) {
        CHECK(pinged_);
        CHECK_FALSE(std::exchange(ping_asked_, true));
    }
    void reply(const GameMessage& message) {
        CHECK(greeted_);
        CHECK(message.code >= 1000);
    }
    void reply(const auto&) { CHECK(greeted_); }

    Random random_;
    bool greeted_ = false;
    bool pinged_ = false;
    bool ping_asked_ = false;
    Player player_{{}, {}};
    TestLink<Port::players> muster_{player_};
};

template <class World>
void run_seeds() {
    for (int seed = 0; seed < seeds(); ++seed) {
        CAPTURE(seed);
        World world(static_cast<std::uint64_t>(seed));
        for (int step = 0; step < steps; ++step) {
            world.step();
            world.check();
        }
        world.finish();
    }
}

}  // namespace

TEST_CASE("F-7: whatever Muster and the network do, no match is kept or lost unseen, and each token is judged once") {
    run_seeds<RandomServer>();
}

TEST_CASE("A-14: whatever Muster and the network do, each request is answered once, within 30 s") {
    run_seeds<RandomMatchmaker>();
}

TEST_CASE("P-11: whatever Muster and the network do, a player speaks in turn, and its world has a time that exists") {
    run_seeds<RandomPlayer>();
}

}  // namespace muster::sdk
