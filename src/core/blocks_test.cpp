#include "core/blocks.h"

#include <doctest/doctest.h>

#include "core/block_value.h"
#include "core/player_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct BlocksWorld : CoreWorld {
    using CoreWorld::CoreWorld;

    Blocks::Verdict block(BlockKind kind, const std::string& value, Duration length = Duration{0}) {
        Blocks::Verdict verdict{};
        in_pass([&](const Pass& pass) {
            const BlockRecord wanted{kind, value, "cheating", "alice (10.0.0.9)", {}, {}};
            verdict = core->block(pass, 1, wanted, length, {"alice", "10.0.0.9", "block", value});
        });
        return verdict;
    }
    Blocks::Verdict unblock(BlockKind kind, const std::string& value) {
        Blocks::Verdict verdict{};
        in_pass([&](const Pass&) { verdict = core->unblock(2, kind, value, {"alice", "10.0.0.9", "unblock", value}); });
        return verdict;
    }
    std::string login_error(std::string_view name, std::string_view ip = "10.0.0.1") {
        const ConnectionId link = connect(Port::players, ip);
        send(link, PlayerLogin{NameText(name), "", ""});
        return error_of(next<PlayerLoginResponse>(link));
    }
    // What the daemon does once a second.
    void look_at_the_date() {
        in_pass([this](const Pass& pass) { core->observe_wall(pass, clock.wall()); });
    }
};

using enum Blocks::Verdict;

}  // namespace

TEST_CASE_FIXTURE(BlocksWorld, "S-6: a blocked address is told so at each game port, and its links are closed") {
    const TestServer server = join(*this, 7000, eu, 10, "203.0.113.7");
    const TestPlayer player = log_in_on(*this, connect(Port::players, "203.0.113.8"), "Bob");
    const TestServer other = join(*this, 7000, eu, 10, "203.0.114.7");

    CHECK(block(BlockKind::ip, "203.0.113.0/24") == begun);
    CHECK(next<ServerError>(server.link).error == "Blocked");
    CHECK(closed(server.link));
    CHECK_FALSE(state_of(*this, server).connected());
    CHECK(close_reason(*this, player.link) == "Blocked");
    CHECK(closed(player.link));
    CHECK(core->players().sessions().find(player.id) == Sessions::none);
    CHECK_FALSE(closed(other.link));

    const ConnectionId again = connect(Port::servers, "203.0.113.7");
    CHECK(next<ServerError>(again).error == "Blocked");
    CHECK(closed(again));
    const ConnectionId matchmaker = connect(Port::matchmakers, "203.0.113.9");
    CHECK(next<MatchmakerError>(matchmaker).error == "Blocked");
    CHECK(closed(matchmaker));
    CHECK(core->blocked_links(Port::servers) == 2);
    CHECK(core->blocked_links(Port::matchmakers) == 1);
    CHECK(core->blocked_links(Port::players) == 1);
    CHECK(log_lines.has("its address is blocked"));

    CHECK(unblock(BlockKind::ip, "203.0.113.0/24") == begun);
    CHECK_FALSE(closed(connect(Port::servers, "203.0.113.7")));
}

TEST_CASE_FIXTURE(BlocksWorld, "S-6: a blocked account or name is refused, and its session ends") {
    const TestPlayer bob = log_in(*this, "Bob");
    const TestPlayer eve = log_in(*this, "Eve");
    CHECK(block(BlockKind::account, std::to_string(bob.id.value)) == begun);
    CHECK(close_reason(*this, bob.link) == "Blocked");
    CHECK(login_error("Bob") == "Blocked");
    CHECK_FALSE(closed(eve.link));

    CHECK(block(BlockKind::name, "Eve") == begun);
    CHECK(close_reason(*this, eve.link) == "Blocked");
    CHECK(login_error("Eve") == "Blocked");
    CHECK(login_error("eve") == "");  // another name

    // A name that nobody had yet gets no account.
    CHECK(block(BlockKind::name, "Mallory") == begun);
    CHECK(login_error("Mallory") == "Blocked");
    const auto is_mallory = [](const Record& one) {
        const auto* account = std::get_if<AccountRecord>(&one);
        return account && account->name == "Mallory";
    };
    CHECK(std::none_of(store.durable.begin(), store.durable.end(), is_mallory));
}

TEST_CASE_FIXTURE(BlocksWorld, "S-6: a block counts when it is durable, and one that the disk refuses never does") {
    const TestPlayer bob = log_in(*this, "Bob");
    store.holding = true;
    CHECK(block(BlockKind::name, "Bob") == begun);
    CHECK_FALSE(closed(bob.link));
    store.fault = StoreFault::full;
    commit();
    CHECK_FALSE(closed(bob.link));
    const auto answered = core->take_answered();
    REQUIRE(answered.size() == 1);
    CHECK(answered[0].verdict.error() == Refusal::store_unavailable);
    CHECK(events_named("operator.action") == 0);
    CHECK(core->blocks().size() == 0);
}

TEST_CASE_FIXTURE(BlocksWorld, "S-6: a block with an end holds until then, and its end is told") {
    CHECK(block(BlockKind::ip, "203.0.113.7", 1h) == begun);
    advance(1h - 1ms);
    look_at_the_date();
    CHECK(closed(connect(Port::servers, "203.0.113.7")));
    CHECK(events_named("block.expired") == 0);
    advance(1ms);
    CHECK_FALSE(closed(connect(Port::servers, "203.0.113.7")));
    look_at_the_date();
    CHECK(events_named("block.expired") == 1);
    CHECK(core->blocks().size() == 0);
    CHECK(std::holds_alternative<BlockRemoved>(store.durable.at(store.durable.size() - 2)));
    CHECK(unblock(BlockKind::ip, "203.0.113.7") == unknown);
}

TEST_CASE_FIXTURE(BlocksWorld, "S-6: a later block of the same replaces the earlier one, its end too") {
    CHECK(block(BlockKind::ip, "203.0.113.7", 1h) == begun);
    CHECK(block(BlockKind::ip, "203.0.113.7") == begun);
    CHECK(core->blocks().size() == 1);
    advance(2h);
    look_at_the_date();
    CHECK(closed(connect(Port::servers, "203.0.113.7")));
    // The range around it is another block.
    CHECK(block(BlockKind::ip, "203.0.113.0/24") == begun);
    CHECK(unblock(BlockKind::ip, "203.0.113.7") == begun);
    CHECK(closed(connect(Port::servers, "203.0.113.7")));
    CHECK(unblock(BlockKind::ip, "203.0.113.0/24") == begun);
    CHECK_FALSE(closed(connect(Port::servers, "203.0.113.7")));
}

TEST_CASE("S-6: blocks are there after a restart, and there is a limit to them") {
    RecoveredState recovered;
    for (std::size_t i = 1; i < Blocks::blocks_max; ++i)
        recovered.blocks.push_back({BlockKind::account, std::to_string(i), "", "alice", UnixMs{1}, UnixMs{0}});
    recovered.blocks.push_back({BlockKind::ip, "2001:db8::/32", "", "alice", UnixMs{1}, UnixMs{0}});
    BlocksWorld world(recovered);
    CHECK(world.closed(world.connect(Port::servers, "2001:db8::7")));
    CHECK_FALSE(world.closed(world.connect(Port::servers, "2001:db9::7")));
    CHECK(world.login_error("First") == "Blocked");  // account 1
    CHECK(world.block(BlockKind::name, "Bob") == too_many);
    CHECK(world.block(BlockKind::account, "5") == begun);  // replaces
}

TEST_CASE("S-6: a value is written in one way only") {
    CHECK(block_value(BlockKind::ip, "::ffff:203.0.113.7") == "203.0.113.7");
    CHECK(block_value(BlockKind::ip, "2001:DB8:0::/32") == "2001:db8::/32");
    CHECK_FALSE(block_value(BlockKind::ip, "203.0.113.7/24"));
    CHECK_FALSE(block_value(BlockKind::ip, "muster.example"));
    CHECK(block_value(BlockKind::account, "007") == "7");
    for (const char* text : {"", "0", "-1", "2147483648", "1x", " 1"})
        CHECK_FALSE(block_value(BlockKind::account, text));
    CHECK(block_value(BlockKind::name, "Bob") == "Bob");
    CHECK_FALSE(block_value(BlockKind::name, ""));
    CHECK_FALSE(block_value(BlockKind::name, "\xFF"));
    CHECK_FALSE(block_value(BlockKind::name, std::string(1'000, 'x')));
}

TEST_CASE_FIXTURE(BlocksWorld,
                  "S-6, N-11: blocks of another cell hold here, hit who is here, and end without a word of ours") {
    const TestPlayer ann = log_in(*this, "ann");
    const TestPlayer bob = log_in(*this, "bob");
    const auto hear = [&](std::vector<BlockRecord> blocks) {
        CellNews news;
        news.rules = SharedRules{{}, std::move(blocks)};
        in_pass([&](const Pass& pass) { core->take_news(pass, news); });
    };
    const UnixMs end{clock.wall().value + 60'000};
    const BlockRecord name{BlockKind::name, "ann", "", "alice", clock.wall(), UnixMs{0}};
    const BlockRecord address{BlockKind::ip, "203.0.113.7", "", "alice", clock.wall(), end};
    hear({address, name});
    CHECK(closed(ann.link));
    CHECK_FALSE(closed(bob.link));
    CHECK(closed(connect(Port::servers, "203.0.113.7")));
    CHECK_FALSE(login_error("ann").empty());
    // Taken back there: taken back here.
    hear({address});
    CHECK(login_error("ann").empty());
    advance(60s);
    look_at_the_date();
    CHECK(core->blocks().size() == 0);
    CHECK(events_named("block.expired") == 0);
    for (const Record& record : store.durable) CHECK_FALSE(std::holds_alternative<BlockRemoved>(record));
}
