// Peers of all three ports against the whole of core: whatever they say, in whatever order, with a disk that is slow or
// full and time that jumps, core never breaks one of its own checks, and always comes to rest.
//
// An input is a list of steps, a byte for what happens and a few for its numbers. Numbers are small, so that ids,
// lobbies and names meet; some steps send bytes that nobody has written down.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/fuzz_world.h"

namespace muster::fuzz {
namespace {

using namespace std::chrono_literals;

class Play {
public:
    explicit Play(FuzzInput input) : input_(input) {}

    void run() {
        while (!input_.empty()) step();
        world_.finish();
    }

private:
    using Socket = FuzzWorld::Socket;

    std::uint8_t byte() { return input_.byte(); }
    std::int32_t small() { return static_cast<std::int32_t>(byte() % 16) - 2; }
    LobbyId lobby() { return LobbyId(static_cast<std::int32_t>(byte() % 6)); }
    ServerId server() { return ServerId(static_cast<std::int32_t>(byte() % 6)); }

    void step() {
        const std::uint8_t what = byte();
        Socket& link = world_.link(byte());
        switch (what % 32) {
            case 0:
            case 1:
            case 2:
                return world_.open(link, static_cast<Port>(what % 3));
            case 3:
                return world_.disconnect(link);
            case 4:
            case 5:
                return say(link, ServerHandshake{"t", GameEndpoint{"10.0.0.1", 5000 + byte() % 6}, region(), small()});
            case 6:
                return say(link, ServerHeartbeat{server(), small(), static_cast<float>(byte()), 5});
            case 7:
            case 8:
                return say(link, AllocateMatchAck{byte() % 4 != 0, lobby()});
            case 9:
                return say(link, ReadyForMatch{server(), lobby(), MatchTokenText(world_.learned().match_token)});
            case 10:
                return say(link, ValidateToken{server(), lobby(), AccountId(small()),
                                               MatchTokenText(world_.learned().match_token)});
            case 11:
                return say(link, MatchStartedReport{server(), lobby()});
            case 12:
                return say(link, MatchEndedReport{server(), lobby()});
            case 13:
                return say(link, SetDraining{server(), byte() % 2 == 0});
            case 14:
                return say(link, ServerGoodbye{server()});
            case 15:
                return say(link, MatchmakerHandshake{
                                     "t", MatchmakerIdText(byte() % 2 == 0 ? "a" : "b"), {{RegionId(0), RegionId(2)}}});
            case 16:
            case 17:
                return say(link, AllocationRequest{lobby(), 6, 0, region(), 4, 1650});
            case 18:
                return say(link, CancelMatch{lobby()});
            case 19:
                return say(link, MatchPlayers{lobby(), {{AccountId(small()), AccountId(1)}}});
            case 20:
                return say(link, MatchmakerHeartbeat{});
            case 21:
            case 22:
                return say(link, PlayerLogin{NameText(byte() % 2 == 0 ? "ann" : "bob"), CredentialText(credential()),
                                             ResumeTokenText(byte() % 2 == 0 ? "" : world_.learned().resume_token)});
            case 23:
                return byte() % 2 == 0 ? say(link, PingEcho{}) : say(link, PlayerActivity{});
            case 24:
                return say(link, EntityHeartbeatAnswer{static_cast<std::uint32_t>(byte() % 8), byte()});
            case 25:
                return byte() % 3 == 0 ? say(link, PlayerLogout{}) : say(link, PingRequest{});
            case 26:
                return raw(link);
            case 27:
                return world_.advance(waits[byte() % waits.size()]);
            case 28:
                return world_.sleep(waits[byte() % waits.size()]);
            case 29:
                return store();
            case 30:
                return operate();
            default:
                return say(link, ClockSync{small()});
        }
    }

    static constexpr std::array<Duration, 10> waits{1ms, 100ms, 1s, 3s, 5s, 10s, 26s, 31s, 61s, 125s};

    RegionId region() { return RegionId(static_cast<std::int8_t>(byte() % 4)); }
    std::string_view credential() {
        constexpr std::array<std::string_view, 4> known{"", "", "7", "bad"};
        return known[byte() % known.size()];
    }

    template <class M>
    void say(Socket& link, const M& message) {
        world_.say(link, message);
    }

    void raw(Socket& link) {
        if (!link.open) return;
        const auto code = input_.number<Code>();
        std::vector<std::byte> payload(byte() % 24);
        for (std::byte& each : payload) each = static_cast<std::byte>(byte());
        world_.say_frame(link, code, std::move(payload));
    }

    void store() {
        const bool holding = byte() % 2 == 0;
        world_.set_store(holding, byte() % 3 == 0 ? StoreFault::full : StoreFault::none);
    }

    void operate() {
        const std::uint8_t what = byte();
        const std::int32_t who = small();
        const ConnectionId link = world_.link(what).id;
        world_.operate([what, who, link](Core& core, const Pass& pass) {
            switch (what % 6) {
                case 0:
                    core.drain(ServerId(who), what % 2 == 0);
                    return;
                case 1:
                    core.abort_match(pass, LobbyId(who), "");
                    return;
                case 2:
                    core.kick(pass, AccountId(who), "");
                    return;
                case 3:
                    return core.set_clock(pass, GameTime{3, 4, 5}, 1 + what);
                case 4:
                    core.set_authority(AccountId(who), what % 4 == 0);
                    return;
                default:
                    return core.gave_up(pass, link, LinkFault::flooded);
            }
        });
    }

    FuzzInput input_;
    FuzzWorld world_;
};

}  // namespace
}  // namespace muster::fuzz

FUZZ_INPUTS_UP_TO(256);

FUZZ_TARGET("fault 44, fault 45, fault 67: whatever peers say, core breaks no check of its own and comes to rest") {
    if (size > size_max) return -1;
    muster::fuzz::Play({data, size}).run();
    return 0;
}
