// The judges can fail: each rule is broken on purpose between Muster and the world, and the right judge objects.
#include "sim/sabotage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/messages.h"
#include "sim/sabotage_fixture.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

bool is_success(const AllocationResponse& answer) {
    return std::holds_alternative<AllocationResponse::Accepted>(answer.answer);
}

// A store that says yes to batches with a match in that state, and keeps none of them.
class ForgedMatches final : public Sabotage {
public:
    explicit ForgedMatches(MatchState state) : state_(state) {}

    bool forges(const RecordBatch& batch) override {
        return std::ranges::any_of(batch.records, [this](const Record& record) {
            const auto* match = std::get_if<MatchRecord>(&record);
            return match && match->state == state_;
        });
    }

private:
    const MatchState state_;
};

}  // namespace

TEST_CASE("nobody objects to a sabotage that breaks nothing") {
    Sabotage honest;
    SimOptions options;
    options.scenario = Scenario::calm;
    const SimReport plain = run_simulation(options);
    options.sabotage = &honest;
    const SimReport same = run_simulation(options);
    CHECK_FALSE(same.objection.has_value());
    CHECK(same.trace_hash == plain.trace_hash);
}

TEST_CASE("invariant 3, fault 65: an offer that leaves before its commit is objected to") {
    ForgedMatches lying(MatchState::offering);
    CHECK(objection_to(lying) == "invariant 3");
}

TEST_CASE("invariant 3: an account that is let in before its commit is objected to") {
    struct LyingStore final : Sabotage {
        bool forges(const RecordBatch& batch) override {
            for (const Record& record : batch.records) {
                if (std::holds_alternative<TokenUsed>(record)) return true;
            }
            return false;
        }
    } lying;
    CHECK(objection_to(lying) == "invariant 3");
}

TEST_CASE("invariant 3, A-10: an end that is answered before its commit is objected to") {
    ForgedMatches lying(MatchState::ended);
    CHECK(objection_to(lying) == "invariant 3");
}

TEST_CASE("invariant 4: a second answer to one request is objected to") {
    struct Echo final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            const bool twice = as<AllocationResponse>(frame).has_value();
            out.push_back(frame);
            if (twice) out.push_back(std::move(frame));
        }
    } echo;
    CHECK(objection_to(echo) == "invariant 4");
}

TEST_CASE("A-7: an answer that never leaves is objected to when its 25 s are over") {
    struct Silence final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            // From the first one on: else the next answer would be the first to look wrong.
            if (!as<AllocationResponse>(frame) && !as<MatchPlayersResponse>(frame) && !as<MatchEventNotice>(frame)) {
                out.push_back(std::move(frame));
            }
        }
    } silence;
    const std::string rule = objection_to(silence);
    CHECK((rule == "A-7" || rule == "A-10"));
}

TEST_CASE("W-8: an answer that overtakes another one about the same lobby is objected to") {
    struct Swap final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            if (!as<ValidateTokenResponse>(frame)) return out.push_back(std::move(frame));
            if (!held || held->link != frame.link) {
                if (held) out.push_back(std::move(*held));
                held = std::move(frame);
                return;
            }
            out.push_back(std::move(frame));
            out.push_back(std::move(*std::exchange(held, std::nullopt)));
        }
        std::optional<SentFrame> held;
    } swap;
    CHECK(objection_to(swap) == "W-8");
}

TEST_CASE("invariant 6: a second offer of one request to the same server is objected to") {
    struct DoubledOffer final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            const bool twice = as<AllocateMatch>(frame).has_value();
            out.push_back(frame);
            if (twice) out.push_back(std::move(frame));
        }
    } doubled;
    CHECK(objection_to(doubled) == "invariant 6");
}

TEST_CASE("invariant 8: a token that two offers share is objected to") {
    struct OneToken final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            auto offer = as<AllocateMatch>(frame);
            if (!offer) return out.push_back(std::move(frame));
            if (!first) first = offer->token;
            offer->token = *first;
            out.push_back(framed(frame.link, *offer));
        }
        std::optional<MatchTokenText> first;
    } one_token;
    CHECK(objection_to(one_token) == "invariant 8");
}

TEST_CASE("invariant 8, K-2: a token that is accepted twice for one account is objected to") {
    struct OpenDoor final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            const auto answer = as<ValidateTokenResponse>(frame);
            const auto* refused = answer ? std::get_if<ValidateTokenResponse::Refused>(&answer->answer) : nullptr;
            if (!refused || refused->error != "Match token already used") return out.push_back(std::move(frame));
            out.push_back(framed(
                frame.link, ValidateTokenResponse{ValidateTokenResponse::Accepted{refused->lobby, refused->account}}));
        }
    } open_door;
    const std::string rule = objection_to(open_door, Scenario::lossy);
    CHECK((rule == "invariant 8" || rule == "invariant 3"));
}

TEST_CASE("invariant 7: an acknowledgement that core does not hear is objected to") {
    struct Deaf final : Sabotage {
        bool hears(LinkNumber, Code code, std::span<const std::byte>) override {
            return code != AllocateMatchAck::code;
        }
    } deaf;
    CHECK(objection_to(deaf) == "invariant 7");
}

TEST_CASE("invariant 12: a wish to drain that core does not heed is objected to") {
    struct Deaf final : Sabotage {
        bool hears(LinkNumber, Code code, std::span<const std::byte>) override { return code != SetDraining::code; }
    } deaf;
    // The answer that is missing is seen first when all else is done before the next heartbeat.
    std::map<std::string, int> rules;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) ++rules[objection_to(deaf, Scenario::lossy, seed)];
    CHECK(rules["invariant 12"] > 0);
    CHECK(rules["invariant 12"] + rules["invariant 22"] + rules[""] == 30);
}

TEST_CASE("invariant 20: a request that core does not count is objected to") {
    struct Deaf final : Sabotage {
        bool hears(LinkNumber, Code code, std::span<const std::byte>) override {
            return code != AllocationRequest::code;
        }
    } deaf;
    CHECK(objection_to(deaf) == "invariant 20");
}

TEST_CASE("invariant 22: servers that cannot register when nothing is wrong are objected to") {
    struct Deaf final : Sabotage {
        bool hears(LinkNumber, Code code, std::span<const std::byte>) override { return code != ServerHandshake::code; }
    } deaf;
    CHECK(objection_to(deaf) == "invariant 22");
}

TEST_CASE("A-10: an event that leaves before its answer is objected to") {
    struct Hasty final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            const auto answer = as<AllocationResponse>(frame);
            if (answer && is_success(*answer)) {
                const LobbyId lobby = std::get<AllocationResponse::Accepted>(answer->answer).lobby;
                out.push_back(framed(frame.link, MatchEventNotice{lobby, MatchEventKind::ready, {}}));
            }
            out.push_back(std::move(frame));
        }
    } hasty;
    CHECK(objection_to(hasty) == "A-10");
}

TEST_CASE("A-10: an event that is kept from a matchmaker that is there is objected to") {
    struct Silence final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            if (!as<MatchEventNotice>(frame)) out.push_back(std::move(frame));
        }
    } silence;
    CHECK(objection_to(silence) == "A-10");
}

TEST_CASE("A-8: another server for a lobby that was answered is objected to") {
    struct Fickle final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            auto answer = as<AllocationResponse>(frame);
            if (!answer || !is_success(*answer)) return out.push_back(std::move(frame));
            std::get<AllocationResponse::Accepted>(answer->answer).server.value += 1;
            out.push_back(framed(frame.link, *answer));
        }
    } fickle;
    CHECK(objection_to(fickle) == "invariant 3");
}
