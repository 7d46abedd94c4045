// The judges of players can fail: each rule is broken on purpose between Muster and the world, and the right judge
// objects.
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/messages.h"
#include "sim/sabotage_fixture.h"

using namespace muster;
using namespace muster::sim;

namespace {

// Core is deaf to one kind of message, although everybody saw it arrive.
template <class M>
struct Deaf final : Sabotage {
    bool hears(LinkNumber, Code code, std::span<const std::byte>) override { return code != M::code; }
};

// One kind of message never leaves.
template <class M>
struct Silence final : Sabotage {
    void send(SentFrame frame, std::vector<SentFrame>& out) override {
        if (!as<M>(frame)) out.push_back(std::move(frame));
    }
};

// One kind of message leaves twice.
template <class M>
struct Echo final : Sabotage {
    void send(SentFrame frame, std::vector<SentFrame>& out) override {
        if (as<M>(frame)) out.push_back(frame);
        out.push_back(std::move(frame));
    }
};

template <class Broken>
std::string rule_broken(Scenario scenario = Scenario::calm) {
    Broken broken;
    return objection_to(broken, scenario);
}

}  // namespace

TEST_CASE("invariant 17, P-2: a player who is dropped although it echoed is objected to") {
    CHECK(rule_broken<Deaf<PingEcho>>() == "invariant 17");
}

TEST_CASE("P-2: a ping that never leaves is objected to") {
    CHECK(rule_broken<Silence<Ping>>() == "P-2");
}

TEST_CASE("P-2: a ping too many is objected to") {
    CHECK(rule_broken<Echo<Ping>>() == "P-2");
}

TEST_CASE("P-3: a ping request or a clock question without an answer is objected to") {
    CHECK(rule_broken<Silence<PingReply>>() == "P-3");
    CHECK(rule_broken<Silence<ClockSyncReply>>() == "P-3");
}

TEST_CASE("P-4: a player who is called idle although it acts is objected to") {
    struct Blind final : Sabotage {
        bool hears(LinkNumber, Code code, std::span<const std::byte>) override {
            return code != PlayerActivity::code && code != 1'000;  // ping requests must be answered
        }
    } blind;
    CHECK(objection_to(blind) == "P-4");
    CHECK(rule_broken<Deaf<PlayerActivity>>(Scenario::players) == "P-4");
}

TEST_CASE("P-1: a login that is answered without the world's time is objected to") {
    CHECK(rule_broken<Silence<TimeUpdate>>() == "P-1");
}

TEST_CASE("P-5: a session that ends without a word is objected to") {
    CHECK(rule_broken<Silence<ServerClose>>(Scenario::players) == "P-5");
}

TEST_CASE("P-5: a reason that is not the reason is objected to") {
    struct Liar final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            if (!as<ServerClose>(frame)) return out.push_back(std::move(frame));
            out.push_back(framed(frame.link, ServerClose{"Server shutting down"}));
        }
    };
    CHECK(rule_broken<Liar>(Scenario::players) == "P-5");
}

TEST_CASE("P-6: a resume token that is given twice is objected to") {
    struct OneToken final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            auto answer = as<PlayerLoginResponse>(frame);
            auto* accepted = answer ? std::get_if<PlayerLoginResponse::Accepted>(&answer->answer) : nullptr;
            if (!accepted) return out.push_back(std::move(frame));
            if (!first) first = accepted->resume_token;
            accepted->resume_token = *first;
            out.push_back(framed(frame.link, *answer));
        }
        std::optional<ResumeTokenText> first;
    };
    CHECK(rule_broken<OneToken>() == "P-6");
}

TEST_CASE("P-6: a resumed player that is told another's id is objected to") {
    struct Confused final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            auto answer = as<PlayerLoginResponse>(frame);
            auto* accepted = answer ? std::get_if<PlayerLoginResponse::Accepted>(&answer->answer) : nullptr;
            if (!accepted || greeted.insert(accepted->player).second) return out.push_back(std::move(frame));
            accepted->player.value += 1;
            out.push_back(framed(frame.link, *answer));
        }
        std::set<AccountId> greeted;
    };
    CHECK(rule_broken<Confused>(Scenario::players) == "P-1");
}

TEST_CASE("invariant 3, P-1: an account id that is told before its commit is objected to") {
    struct LyingStore final : Sabotage {
        bool forges(const RecordBatch& batch) override {
            for (const Record& record : batch.records) {
                if (std::holds_alternative<AccountRecord>(record)) return true;
            }
            return false;
        }
    };
    CHECK(rule_broken<LyingStore>() == "invariant 3");
}

TEST_CASE("H-2: a heartbeat that is never asked for is objected to") {
    CHECK(rule_broken<Silence<EntityHeartbeat>>() == "H-2");
}

TEST_CASE("H-4, invariant 17: an entity that is given up although its client answered is objected to") {
    CHECK(rule_broken<Deaf<EntityHeartbeatAnswer>>() == "H-4");
}

TEST_CASE("invariant 16: a minute that is told wrong is objected to") {
    struct WrongClock final : Sabotage {
        void send(SentFrame frame, std::vector<SentFrame>& out) override {
            auto part = as<TimeChange>(frame);
            if (!part || part->unit != TimeUnit::minute) return out.push_back(std::move(frame));
            part->value = static_cast<std::uint8_t>((part->value + 1) % 60);
            out.push_back(framed(frame.link, *part));
        }
    };
    CHECK(rule_broken<WrongClock>() == "invariant 16");
}

TEST_CASE("C-2: a minute that is never told, or twice, is objected to") {
    CHECK(rule_broken<Silence<TimeChange>>() == "C-2");
    CHECK(rule_broken<Echo<TimeChange>>() == "C-2");
}

TEST_CASE("A-10: players who are not told to come, or twice, are objected to") {
    CHECK(rule_broken<Silence<PlayerMatchStart>>() == "A-10");
    CHECK(rule_broken<Echo<PlayerMatchStart>>() == "A-10");
}

TEST_CASE("A-11: players who do not hear that their match fell through are objected to") {
    CHECK(rule_broken<Silence<PlayerMatchAborted>>(Scenario::players) == "A-11");
    CHECK(rule_broken<Echo<PlayerMatchAborted>>(Scenario::players) == "A-11");
}
