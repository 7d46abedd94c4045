// The SDK's clients against a Muster that says anything: they take it or drop the link, say only what Muster knows,
// call back as they promise, and do the same by their C++ and their C interface.
//
// An input is a byte for the kind of client, then a list of steps, a byte for what happens and a few for its numbers.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/sdk_twins.h"
#include "muster/game_server.h"
#include "muster/matchmaker.h"
#include "muster/player.h"

namespace muster::fuzz {
namespace {

constexpr std::string_view refusals[] = {"Match not found",
                                         "Server not allocated to this match",
                                         "Server busy",
                                         "Match token already used",
                                         "Server not registered",
                                         "Credential expired",
                                         "Server already registered",
                                         "Words of a later version"};

// How often something was asked, and answered, by both interfaces.
struct Asked {
    int asked = 0;
    int answered = 0;
    int answered_in_c = 0;

    void check() const {
        MUSTER_CHECK(answered <= asked && answered_in_c == answered, "each is answered once at most");
    }
};

void check_text(const char* text) {
    MUSTER_CHECK(text != nullptr && std::strlen(text) < 65'536, "a text is there and has an end");
}

// What every client is told; kinds of steps from `common_steps` on are the client's own.
constexpr std::size_t common_steps = 8;

template <Port At>
void common_step(SdkTwins<At>& muster, std::size_t kind, FuzzInput& input) {
    const auto& samples = sample_frames<At>(muster.order());
    switch (kind) {
        case 0:
        case 1:
            return muster.turn_link(true);
        case 2:
            return muster.turn_link(false);
        case 3:
            return muster.advance(input.number<std::uint16_t>());
        case 4: {
            const std::string_view bytes = input.text();
            return muster.say_bytes(std::as_bytes(std::span(bytes)), input.below(8));
        }
        case 5: {  // any payload under a code that is Muster's
            const Bytes& sample = samples[input.number<std::uint16_t>() % samples.size()];
            const std::string_view payload = input.text();
            Bytes frame;
            const FrameSplit split = next_frame(sample, muster.order(), 65'535);
            encode_raw(split.code, std::as_bytes(std::span(payload)), muster.order(), frame);
            return muster.say_bytes(frame, input.below(8));
        }
        default:
            return muster.say_bytes(samples[input.number<std::uint16_t>() % samples.size()], input.below(8));
    }
}

class ServerPlay {
public:
    void step(FuzzInput& input) {
        const std::size_t kind = input.below(common_steps + 9);
        if (kind < common_steps) return common_step(muster_, kind, input);
        const auto lobby = static_cast<std::int32_t>(1 + input.below(4));
        const sdk::LobbyId ours{lobby};
        switch (kind - common_steps) {
            case 0: {
                const auto id = muster::ServerId(static_cast<std::int32_t>(1 + input.below(2)));
                return muster_.say(ServerHandshakeResponse{ServerHandshakeResponse::Accepted{id, UnixMs{1'700'000}}});
            }
            case 1:
                return muster_.say(AllocateMatch{.lobby = muster::LobbyId(lobby), .token = input.flag() ? "a" : "b"});
            case 2:
                return muster_.say(ValidateTokenResponse{
                    ValidateTokenResponse::Accepted{muster::LobbyId(lobby), muster::AccountId(1)}});
            case 3:
                return muster_.say(MatchResponse{LobbyRefused{muster::LobbyId(lobby), refusals[input.below(8)]}});
            case 4:
                MUSTER_CHECK(cpp_.ready(ours) == muster_game_server_ready(c_.get(), lobby), "both hold the same");
                break;
            case 5:
                MUSTER_CHECK(cpp_.start(ours) == muster_game_server_start(c_.get(), lobby), "both hold the same");
                break;
            case 6:
                MUSTER_CHECK(cpp_.end(ours) == muster_game_server_end(c_.get(), lobby), "both hold the same");
                break;
            case 7: {
                const bool draining = input.flag();
                cpp_.drain(draining);
                muster_game_server_drain(c_.get(), draining);
                break;
            }
            default:
                validate(lobby);
        }
        muster_.compare();
    }
    void check() const {
        asked_.check();
        const std::int32_t matches = cpp_.match_count();
        MUSTER_CHECK(matches == muster_game_server_match_count(c_.get()) && matches >= 0, "both count the same");
    }
    void finish() {
        cpp_.goodbye();
        muster_game_server_goodbye(c_.get());
        muster_.compare();
        muster_.turn_link(false);
        muster_.advance(15'000);
        MUSTER_CHECK(asked_.answered == asked_.asked, "each token is judged once");
    }

private:
    static constexpr std::int32_t matches_max = 3;

    void validate(std::int32_t lobby) {
        ++asked_.asked;
        cpp_.validate(sdk::LobbyId{lobby}, sdk::AccountId{1}, "a", [this](const sdk::Outcome&) { ++asked_.answered; });
        const auto done = [](void* user, std::int32_t, std::int32_t, int, const char* text) {
            check_text(text);
            ++static_cast<Asked*>(user)->answered_in_c;
        };
        MUSTER_CHECK(muster_game_server_validate(c_.get(), lobby, 1, "a", done, &asked_), "it is asked");
    }

    static muster_game_server* make() {
        muster_game_server_options options{};
        options.size = sizeof options;
        options.ip = "10.0.0.7";
        options.port = 27015;
        options.max_matches = matches_max;
        options.on_offer = [](void*, const muster_offer* offer) {
            check_text(offer->token);
            return offer->lobby % 3 == 0 ? MUSTER_LATER : MUSTER_ACCEPT;
        };
        options.on_abort = [](void*, std::int32_t, const char* reason) { check_text(reason); };
        options.on_error = [](void*, int, const char* text) { check_text(text); };
        return muster_game_server_new(&options, nullptr, 0);
    }

    Asked asked_;
    sdk::GameServer cpp_{{.ip = "10.0.0.7", .port = 27015, .max_matches = matches_max},
                         {.on_offer = [](const sdk::Offer& offer) {
                             return offer.lobby.value % 3 == 0 ? sdk::OfferAnswer::later : sdk::OfferAnswer::accept;
                         }}};
    std::unique_ptr<muster_game_server, decltype(&muster_game_server_free)> c_{make(), &muster_game_server_free};
    SdkTwins<Port::servers> muster_{cpp_, muster_game_server_client(c_.get()), ByteOrder::little};
};

class MatchmakerPlay {
public:
    void step(FuzzInput& input) {
        const std::size_t kind = input.below(common_steps + 8);
        if (kind < common_steps) return common_step(muster_, kind, input);
        const auto lobby = static_cast<std::int32_t>(1 + input.below(4));
        const muster::LobbyId theirs(lobby);
        switch (kind - common_steps) {
            case 0:
                return muster_.say(
                    MatchmakerHandshakeResponse{MatchmakerHandshakeResponse::Accepted{UnixMs{1'700'000}, {}}});
            case 1:
                return muster_.say(AllocationResponse{LobbyRefused{theirs, refusals[input.below(8)]}});
            case 2:
                return muster_.say(
                    AllocationResponse{AllocationResponse::Accepted{.lobby = theirs,
                                                                    .server = muster::ServerId(1),
                                                                    .endpoint = {.ip = "10.0.0.7", .port = 27015},
                                                                    .token = "token",
                                                                    .time = {}}});
            case 3:
                return muster_.say(MatchPlayersResponse{LobbyAccepted{theirs}});
            case 4:
                return muster_.say(
                    MatchEventNotice{theirs, static_cast<muster::MatchEventKind>(1 + input.below(4)), "Cancelled"});
            case 5:
                cpp_.cancel(sdk::LobbyId{lobby});
                muster_matchmaker_cancel(c_.get(), lobby);
                break;
            case 6:
                list(lobby, input);
                break;
            default:
                request(lobby);
        }
        muster_.compare();
    }
    void check() const { asked_.check(); }
    void finish() {
        muster_.turn_link(false);
        muster_.advance(31'000);  // nothing waits for longer
        cpp_.close();
        muster_matchmaker_close(c_.get());
        muster_.compare();
        muster_.advance(1'000);
        asked_.check();
        MUSTER_CHECK(asked_.answered == asked_.asked, "each request is answered once");
    }

private:
    void request(std::int32_t lobby) {
        ++asked_.asked;
        cpp_.request({.lobby = sdk::LobbyId{lobby}, .player_count = 1},
                     [this](const sdk::Allocation&) { ++asked_.answered; });
        muster_match_request wish{};
        wish.lobby = lobby;
        wish.player_count = 1;
        const auto done = [](void* user, const muster_allocation* allocation) {
            check_text(allocation->text);
            check_text(allocation->ip);
            check_text(allocation->token);
            ++static_cast<Asked*>(user)->answered_in_c;
        };
        MUSTER_CHECK(muster_matchmaker_request(c_.get(), &wish, done, &asked_), "it is asked");
    }
    void list(std::int32_t lobby, FuzzInput& input) {
        ++asked_.asked;
        const std::size_t count = input.below(130);
        const std::vector<sdk::AccountId> accounts(count);
        const std::vector<std::int32_t> numbers(count);
        cpp_.players(sdk::LobbyId{lobby}, accounts, [this](const sdk::Outcome&) { ++asked_.answered; });
        const auto done = [](void* user, std::int32_t, int, const char* text) {
            check_text(text);
            ++static_cast<Asked*>(user)->answered_in_c;
        };
        MUSTER_CHECK(muster_matchmaker_players(c_.get(), lobby, numbers.data(), count, done, &asked_), "it is asked");
    }

    static muster_matchmaker* make() {
        static constexpr std::int8_t region = 2;
        muster_matchmaker_options options{};
        options.size = sizeof options;
        options.matchmaker_id = "chat-1";
        options.regions = &region;
        options.region_count = 1;
        options.on_event = [](void*, std::int32_t, enum muster_match_event, const char* reason) { check_text(reason); };
        options.on_error = [](void*, int, const char* text) { check_text(text); };
        return muster_matchmaker_new(&options, nullptr, 0);
    }

    Asked asked_;
    sdk::Matchmaker cpp_{{.matchmaker_id = "chat-1", .regions = {sdk::RegionId{2}}}, {}};
    std::unique_ptr<muster_matchmaker, decltype(&muster_matchmaker_free)> c_{make(), &muster_matchmaker_free};
    SdkTwins<Port::matchmakers> muster_{cpp_, muster_matchmaker_client(c_.get()), ByteOrder::little};
};

class PlayerPlay {
public:
    explicit PlayerPlay(bool little)
        : cpp_({.little_endian = little}, {}),
          c_(make(little), &muster_player_free),
          muster_(cpp_, muster_player_client(c_.get()), little ? ByteOrder::little : ByteOrder::big) {}

    void step(FuzzInput& input) {
        const std::size_t kind = input.below(common_steps + 7);
        if (kind < common_steps) return common_step(muster_, kind, input);
        switch (kind - common_steps) {
            case 0:
                return muster_.say(PlayerLoginResponse{PlayerLoginResponse::Accepted{muster::AccountId(7), "resume"}});
            case 1:
                return muster_.say(Ping{});
            case 2: {
                constexpr std::string_view reasons[] = {"Kicked", "Server shutting down", "Ping timeout", "Other"};
                return muster_.say(ServerClose{reasons[input.below(4)]});
            }
            case 3: {
                const char* name = input.flag() ? "ann" : "bob";
                cpp_.login(name, "secret");
                muster_player_login(c_.get(), name, "secret");
                break;
            }
            case 4:
                MUSTER_CHECK(cpp_.request_ping() == muster_player_request_ping(c_.get()), "both may ask, or none");
                cpp_.activity();
                muster_player_activity(c_.get());
                break;
            case 5: {
                const auto code = input.number<std::uint16_t>();
                const std::string_view payload = input.text();
                const bool sent = cpp_.send(code, std::as_bytes(std::span(payload)));
                MUSTER_CHECK(sent == muster_player_send(c_.get(), code, payload.data(), payload.size()), "both send");
                break;
            }
            default:
                cpp_.logout();
                muster_player_logout(c_.get());
        }
        muster_.compare();
    }
    void check() const {
        const auto time = cpp_.world_time();
        muster_world_time in_c{};
        MUSTER_CHECK(muster_player_world_time(c_.get(), &in_c) == time.has_value(), "both know the time, or none");
        if (!time) return;
        MUSTER_CHECK(time->day >= 1 && time->day <= 7 && time->hour <= 23 && time->minute <= 59, "the time exists");
        MUSTER_CHECK(time->day == in_c.day && time->hour == in_c.hour && time->minute == in_c.minute, "it is the same");
    }
    void finish() {
        cpp_.logout();
        muster_player_logout(c_.get());
        muster_.compare();
        muster_.turn_link(false);
        muster_.advance(1'000);
        MUSTER_CHECK(!cpp_.wants_connection() && !cpp_.next_tick(), "who has left does nothing");
    }

private:
    static muster_player* make(bool little) {
        muster_player_options options{};
        options.size = sizeof options;
        options.little_endian = little;
        options.on_refused = [](void*, int, const char* text) { check_text(text); };
        options.on_match_start = [](void*, const muster_match_start* match) {
            check_text(match->ip);
            check_text(match->token);
        };
        options.on_match_aborted = [](void*, std::int32_t, const char* reason) { check_text(reason); };
        options.on_closed = [](void*, const char* reason, bool) { check_text(reason); };
        options.on_error = [](void*, int, const char* text) { check_text(text); };
        return muster_player_new(&options, nullptr, 0);
    }

    sdk::Player cpp_;
    std::unique_ptr<muster_player, decltype(&muster_player_free)> c_;
    SdkTwins<Port::players> muster_;
};

void run(auto& play, FuzzInput& input) {
    while (!input.empty()) {
        play.step(input);
        play.check();
    }
    play.finish();
}

}  // namespace
}  // namespace muster::fuzz

FUZZ_INPUTS_UP_TO(512);

FUZZ_TARGET("A-14, F-7, P-11: whatever Muster says, the SDK's clients say only what it knows, alike in C++ and in C") {
    using namespace muster::fuzz;
    if (size > size_max) return -1;
    FuzzInput input(data, size);
    switch (const std::size_t kind = input.below(4)) {
        case 0: {
            ServerPlay play;
            run(play, input);
            break;
        }
        case 1: {
            MatchmakerPlay play;
            run(play, input);
            break;
        }
        default: {
            PlayerPlay play(kind == 2);
            run(play, input);
        }
    }
    return 0;
}
