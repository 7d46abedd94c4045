#include "daemon/operator_link.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "core/views.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Operating {
    Operating()
        : world({},
                [](CoreConfig& config) {
                    config.matchmaker_token = [](std::string_view token) { return token == "ours"; };
                }),
          link(*world.core, "ours", {{CoreWorld::use, "USE"}, {CoreWorld::eu, "EU"}}) {
        beat();
    }

    void beat() {
        world.in_pass([this](const Pass& pass) { link.beat(pass); });
        carry();
    }
    void ask(std::int32_t lobby) {
        world.in_pass([this, lobby](const Pass& pass) {
            link.allocate(pass, request_for(lobby), [this](const AllocationResponse& answer) {
                const std::string error = error_of(answer);
                answers.push_back(error.empty() ? "done" : error);
            });
        });
        carry();
    }
    // What core sent over the link, as CoreLinks hands it on.
    void carry() {
        RememberedLinks::Peer& peer = world.links.peers[link.link()];
        while (!peer.frames.empty()) {
            const RememberedLinks::Frame frame = std::move(peer.frames.front());
            peer.frames.pop_front();
            const auto length = static_cast<std::uint16_t>(frame.payload.size() + 2);
            std::vector<std::byte> whole;
            for (const std::uint16_t number : {length, frame.code}) {
                whole.push_back(static_cast<std::byte>(number & 255));
                whole.push_back(static_cast<std::byte>(number >> 8));
            }
            whole.insert(whole.end(), frame.payload.begin(), frame.payload.end());
            link.sent(whole);
        }
        if (peer.closed) link.close();
        peer.closed = false;
    }

    CoreWorld world;
    OperatorLink link;
    std::vector<std::string> answers;
};

}  // namespace

TEST_CASE_FIXTURE(Operating, "A-8: the API is a matchmaker, and a lobby asked for twice takes one server") {
    CHECK(link.greeted());
    CHECK(world.core->matchmakers().find(operator_matchmaker) != nullptr);
    const TestServer server = join(world, 7777);
    ask(5);
    ask(5);
    CHECK(answers.empty());
    world.send(server.link, AllocateMatchAck{true, world.next<AllocateMatch>(server.link).lobby});
    carry();
    CHECK(answers == std::vector<std::string>{"done", "done"});
    ask(5);
    CHECK(answers.size() == 3);
    CHECK(world.quiet(server.link));
    CHECK(world.core->fleet().find(server.id)->held == 1);
}

TEST_CASE_FIXTURE(Operating, "A-8: answers come as they are known, a slow one holds up no other") {
    const TestServer slow = join(world, 7777, CoreWorld::eu);
    ask(5);
    ask(-1);
    CHECK(answers == std::vector<std::string>{"Invalid match lobby ID"});
    world.send(slow.link, AllocateMatchAck{true, LobbyId(5)});
    carry();
    CHECK(answers.back() == "done");
}

TEST_CASE_FIXTURE(Operating, "A-1: it stays alive by its beats, and comes back when it was given up") {
    for (int i = 0; i < 200; ++i) {
        world.advance(1s);
        beat();
    }
    CHECK(link.greeted());
    world.advance(91s);  // a beat is missing for longer than core waits
    carry();
    ask(6);
    CHECK(answers == std::vector<std::string>{"Server busy"});
    beat();
    CHECK(link.greeted());
    (void)join(world, 7777);
    ask(6);
    CHECK(answers.size() == 1);  // offered, and not refused
    CHECK(world.core->matches().find(LobbyId(6))->offering());
}
