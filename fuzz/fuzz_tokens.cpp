// Match tokens: who is let in came with the exact text, to the right server, in time, once, and before the start; and
// whoever does so is let in.
//
// Two servers hold a match each. An input is a list of steps: a player comes with a token that is right or nearly so,
// time passes, a match starts or is aborted, the store is slow or full.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <variant>

#include "base/check.h"
#include "base/utf8.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/fuzz_world.h"

namespace muster::fuzz {
namespace {

using namespace std::chrono_literals;

class TokenPlay {
public:
    explicit TokenPlay(FuzzInput input) : input_(input) {
        world_.open(link_of_matchmaker(), Port::matchmakers);
        world_.say(link_of_matchmaker(), MatchmakerHandshake{"t", "a", {{RegionId(0)}}});
        for (std::size_t i = 0; i < held_.size(); ++i) hold(i);
    }

    void run() {
        while (!input_.empty()) step();
        world_.set_store(false, StoreFault::none);
        hear();
        world_.finish();
    }

private:
    static constexpr std::int8_t player_count = 3;
    static constexpr Duration token_life = 120s;
    // So often a server says that it is alive: hardly often enough, so that a run takes less time.
    static constexpr Duration beat = 25s;

    // A match as its server knows it.
    struct Held {
        LobbyId lobby;
        ServerId server;
        std::string token;
        Time acknowledged;
        bool listed = false;         // only accounts 1 and 2 may come
        bool closed = false;         // started or over: nobody is let in any more
        std::set<std::int32_t> may;  // who came with all that is needed, and may be let in
        std::set<std::int32_t> in;
    };

    FuzzWorld::Socket& link_of_matchmaker() { return world_.link(held_.size()); }

    // The server registers and is given its match.
    void hold(std::size_t number) {
        FuzzWorld::Socket& link = world_.link(number);
        Held& held = held_[number];
        link.listened_to = true;
        held.lobby = LobbyId(static_cast<std::int32_t>(number + 1));
        held.listed = input_.flag();
        world_.open(link, Port::servers);
        const auto port = static_cast<std::int32_t>(5000 + number);
        world_.say(link, ServerHandshake{"t", GameEndpoint{"10.0.0.1", port}, RegionId(0), 1});
        const auto welcome = decode<ServerHandshakeResponse>(link.said.at(0).payload, ByteOrder::little);
        held.server = std::get<ServerHandshakeResponse::Accepted>(welcome->answer).server;

        if (held.listed) world_.say(link_of_matchmaker(), MatchPlayers{held.lobby, {{AccountId(1), AccountId(2)}}});
        world_.say(link_of_matchmaker(), AllocationRequest{held.lobby, 6, 0, RegionId(0), player_count, 1650});
        const auto offer = decode<AllocateMatch>(link.said.at(1).payload, ByteOrder::little);
        held.token = offer->token.string();
        held.acknowledged = world_.now();
        world_.say(link, AllocateMatchAck{true, held.lobby});
        link.said.clear();
    }

    void step() {
        const std::uint8_t what = input_.byte();
        Held& held = held_[input_.below(held_.size())];
        switch (what % 8) {
            case 0:
                return wait();
            case 1: {
                store_is_well_ = input_.byte() % 4 != 0;
                stumbled_ |= !store_is_well_;
                const bool holding = !store_is_well_ && input_.flag();
                world_.set_store(holding, store_is_well_ || holding ? StoreFault::none : StoreFault::full);
                return hear();
            }
            case 2:
                return close(held);
            default:
                return validate(held);
        }
    }

    void validate(Held& held) {
        const std::size_t from = input_.below(held_.size());
        const ServerId claimed = held_[input_.below(held_.size())].server;
        const AccountId account(static_cast<std::int32_t>(1 + input_.below(6)));
        const std::string token = edited(held_[input_.below(held_.size())].token, input_);
        if (!MatchTokenText::fits(token) || !is_utf8(token)) return;  // no message, and the end of the link

        const bool right = token == held.token && claimed == held.server && &held == &held_[from] && !held.closed &&
                           world_.now() < held.acknowledged + token_life && (!held.listed || account.value <= 2);
        if (right) held.may.insert(account.value);
        const bool known = right && store_is_well_ && !stumbled_;
        const bool first = !held.in.contains(account.value);
        const bool room = held.in.size() < player_count;
        world_.say(world_.link(from), ValidateToken{claimed, held.lobby, account, MatchTokenText(token)});
        hear();
        if (known && first) MUSTER_CHECK(held.in.contains(account.value) == room, "who comes rightly is let in");
    }

    // The match starts, or an operator aborts it.
    void close(Held& held) {
        FuzzWorld::Socket& link = world_.link(held.server == held_[0].server ? 0 : 1);
        if (input_.flag()) {
            world_.operate(
                [&](Core& core, const Pass& pass) { held.closed |= core.abort_match(pass, held.lobby, ""); });
        } else {
            world_.say(link, ReadyForMatch{held.server, held.lobby, MatchTokenText(held.token)});
            world_.say(link, MatchStartedReport{held.server, held.lobby});
        }
        hear();
    }

    void wait() {
        constexpr std::array<Duration, 5> waits{1ms, 1s, 25s, 60s, 119s};
        Duration left = waits[input_.below(waits.size())];
        while (left > 0s) {
            const Duration part = std::min(left, beat);
            world_.advance(part);
            left -= part;
            world_.at_once([this] {
                for (std::size_t i = 0; i < held_.size(); ++i)
                    world_.say(world_.link(i), ServerHeartbeat{held_[i].server, 1, 5, 5});
                world_.say(link_of_matchmaker(), MatchmakerHeartbeat{});
            });
        }
        hear();
        for (Held& held : held_) {
            if (world_.now() >= held.acknowledged + token_life) held.closed = true;
        }
    }

    // What the servers were answered.
    void hear() {
        for (std::size_t i = 0; i < held_.size(); ++i) {
            for (const FuzzWorld::Said& said : world_.link(i).said) heard(said);
            world_.link(i).said.clear();
        }
    }

    void heard(const FuzzWorld::Said& said) {
        if (said.code == MatchResponse::code) {
            const auto report = decode<MatchResponse>(said.payload, ByteOrder::little);
            if (const auto* taken = std::get_if<LobbyAccepted>(&report->answer)) held_of(taken->lobby).closed = true;
        }
        if (said.code != ValidateTokenResponse::code) return;
        const auto answer = decode<ValidateTokenResponse>(said.payload, ByteOrder::little);
        const auto* accepted = std::get_if<ValidateTokenResponse::Accepted>(&answer->answer);
        if (!accepted) return;
        Held& held = held_of(accepted->lobby);
        MUSTER_CHECK(held.may.contains(accepted->account.value), "who is let in came rightly");
        MUSTER_CHECK(held.in.insert(accepted->account.value).second, "nobody is let in twice");
        MUSTER_CHECK(held.in.size() <= player_count, "no more than there is room for");
    }

    Held& held_of(LobbyId lobby) { return held_.at(static_cast<std::size_t>(lobby.value - 1)); }

    FuzzInput input_;
    FuzzWorld world_;
    std::array<Held, 2> held_;
    bool store_is_well_ = true;
    bool stumbled_ = false;  // the store was not well at some time: what it did not take may be given up, or come later
};

}  // namespace
}  // namespace muster::fuzz

FUZZ_INPUTS_UP_TO(256);

FUZZ_TARGET("fault 67, K-2: the exact token lets a player in, at its server, in time and once, and nothing else does") {
    if (size > size_max) return -1;
    muster::fuzz::TokenPlay({data, size}).run();
    return 0;
}
