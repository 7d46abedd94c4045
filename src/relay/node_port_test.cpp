#include "relay/node_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>

#include "base/no_log.h"
#include "base/system_clock.h"
#include "relay/relay_fixture.h"
#include "runtime/wakeup.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// Far beyond what it takes, so that a hang fails instead of hanging.
constexpr auto patience = 60s;

// Another node, over a socket of its own.
class Client {
public:
    Client(const SocketAddress& to, const NodeHello& hello) : socket_(connected(to), nullptr, true) {
        NodeWriter(socket_.out()).hello(hello);
        REQUIRE(socket_.write());
    }

    std::vector<std::byte>& out() { return socket_.out(); }
    void send() { REQUIRE(socket_.write()); }
    // The next message that is no beat; nothing once the link is closed.
    std::optional<NodeKind> next() {
        const auto limit = std::chrono::steady_clock::now() + patience;
        for (;;) {
            const NodeSplit split = next_node_message(socket_.received(), node_message_max);
            if (split.outcome == NodeSplit::Outcome::message) {
                body.assign(split.body.begin(), split.body.end());
                const NodeKind kind = split.kind;
                socket_.consume(split.size);
                if (kind != NodeKind::beat) return kind;
                continue;
            }
            if (is_closed_) return std::nullopt;
            REQUIRE(std::chrono::steady_clock::now() < limit);
            pollfd waiting{socket_.number(), POLLIN, 0};
            ::poll(&waiting, 1, 100);
            socket_.reported(EPOLLIN | EPOLLRDHUP);  // each read() goes on until nothing is left
            is_closed_ = !socket_.read();            // what came before stays to be read
        }
    }

    std::vector<std::byte> body;

private:
    static FileDescriptor connected(const SocketAddress& to) {
        FileDescriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(to.port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::connect(made.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        REQUIRE(::fcntl(made.number(), F_SETFL, O_NONBLOCK) == 0);
        return made;
    }

    NodeSocket socket_;
    bool is_closed_ = false;
};

// What one cell's loop has: a network without sockets.
struct Loop {
    explicit Loop(const Clock& clock) : wakeup(clock), network(clock, wakeup, NetworkConfig{}) {}

    // What peers did at the matchmaker port, once there is something.
    InboundBatch heard() {
        const auto limit = std::chrono::steady_clock::now() + patience;
        InboundBatch batch;
        while (!network.inbox(Port::matchmakers).take(batch)) {
            REQUIRE(std::chrono::steady_clock::now() < limit);
            wakeup.wait_until(clock.now() + 50ms);
        }
        return batch;
    }
    CellDoor::Parts parts() {
        return {network, wakeup,
                [this](std::string question, const CellDoor::Answer& answer) { answer(question + " of " + name); }};
    }

    SystemClock clock;
    Wakeup wakeup;
    Network network;
    std::string name;
};

struct OpenPort {
    OpenPort() {
        eu.name = "eu";
        us.name = "us";
    }
    NodeHello hello(const std::string& cell, std::int64_t term, const std::string& node = "other") const {
        NodeHello made;
        made.cell = cell;
        made.term = term;
        made.node = node;
        return made;
    }

    SystemClock clock;
    NoLog lines;
    Log log{clock, lines};
    Listener listener{"nodes", SocketAddress(*IpAddress::parse("127.0.0.1"), 0)};
    Loop eu{clock};
    Loop us{clock};
    NodePort port{clock, log, listener, {}};
};

constexpr ConnectionId relayed_peer{5, 1};

}  // namespace

TEST_CASE_FIXTURE(OpenPort, "N-7: a link is for one cell, and its peers reach that cell's loop only") {
    CellDoor& of_eu = port.open({"eu", 3, 0}, eu.parts());
    CellDoor& of_us = port.open({"us", 7, 0}, us.parts());
    Client to_eu(listener.bound(), hello("eu", 3));
    Client to_us(listener.bound(), hello("us", 7));
    REQUIRE(to_eu.next() == NodeKind::welcome);
    REQUIRE(to_us.next() == NodeKind::welcome);  // the same node: the other link stays

    NodeWriter(to_us.out()).opened({relayed_peer, Port::matchmakers, IpAddress::v4({10, 0, 0, 1}), ""});
    to_us.send();
    const InboundBatch came = us.heard();
    REQUIRE(came.size() == 1);
    CHECK(came[0].kind == InboundKind::opened);
    CHECK(of_us.relayed() == 1);
    CHECK(of_eu.relayed() == 0);
    NodeWriter(to_eu.out()).opened({relayed_peer, Port::matchmakers, IpAddress::v4({10, 0, 0, 1}), ""});
    to_eu.send();
    REQUIRE(eu.heard().size() == 1);
    InboundBatch none;
    CHECK_FALSE(us.network.inbox(Port::matchmakers).take(none));

    for (Client* client : {&to_eu, &to_us}) {
        const std::string question = "who?";
        NodeWriter(client->out()).question(NodeKind::question, 1, std::as_bytes(std::span(question)));
        client->send();
        REQUIRE(client->next() == NodeKind::answer);
        const auto answer = read_node_question(client->body);
        REQUIRE(answer);
        CHECK(node_text(answer->bytes) == (client == &to_eu ? "who? of eu" : "who? of us"));
    }

    // What the loop has for the peer goes back the same way.
    us.network.set_node_worker(&of_us);
    us.network.links().close(came[0].connection);
    us.network.links().flush();
    CHECK(to_us.next() == NodeKind::close);
    us.network.set_node_worker(nullptr);
}

TEST_CASE_FIXTURE(OpenPort,
                  "N-7: a node that comes for another cell or term is refused, and a closed door ends its own") {
    CellDoor& of_eu = port.open({"eu", 3, 0}, eu.parts());
    port.open({"us", 7, 0}, us.parts());
    Client stays(listener.bound(), hello("us", 7));
    REQUIRE(stays.next() == NodeKind::welcome);
    Client lost(listener.bound(), hello("moon", 3));
    CHECK(lost.next() == NodeKind::refused);
    CHECK_FALSE(lost.next());
    Client late(listener.bound(), hello("eu", 2));
    CHECK(late.next() == NodeKind::refused);

    Client leaves(listener.bound(), hello("eu", 3));
    REQUIRE(leaves.next() == NodeKind::welcome);
    NodeWriter(leaves.out()).opened({relayed_peer, Port::matchmakers, IpAddress::v4({10, 0, 0, 1}), ""});
    leaves.send();
    REQUIRE(eu.heard().size() == 1);
    CHECK(port.close(of_eu) == 1);
    CHECK_FALSE(leaves.next());
    Client too_late(listener.bound(), hello("eu", 3));
    CHECK(too_late.next() == NodeKind::refused);

    NodeWriter(stays.out()).opened({relayed_peer, Port::matchmakers, IpAddress::v4({10, 0, 0, 1}), ""});
    stays.send();
    CHECK(us.heard().size() == 1);
    // The next term's links have other names.
    CellDoor& again = port.open({"eu", 4, 1}, eu.parts());
    Client comes_back(listener.bound(), hello("eu", 4));
    REQUIRE(comes_back.next() == NodeKind::welcome);
    NodeWriter(comes_back.out()).opened({relayed_peer, Port::matchmakers, IpAddress::v4({10, 0, 0, 1}), ""});
    comes_back.send();
    CHECK(eu.heard()[0].connection.generation == 2);
    CHECK(port.close(again) == 2);
}
