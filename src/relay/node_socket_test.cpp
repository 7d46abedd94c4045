#include "relay/node_socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include <doctest/doctest.h>

using namespace muster;

namespace {

struct Pair {
    Pair() {
        std::array<int, 2> ends{};
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
        other = FileDescriptor(ends[0]);
        socket.emplace_back(FileDescriptor(ends[1]), nullptr, false);
    }
    NodeSocket& ours() { return socket.front(); }
    void say(std::size_t bytes) {
        const std::vector<char> said(bytes, 'x');
        REQUIRE(::send(other.number(), said.data(), said.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes));
    }

    FileDescriptor other;
    std::vector<NodeSocket> socket;
};

}  // namespace

TEST_CASE("N-7: a socket between nodes that was read empty is left alone until something new is reported") {
    Pair pair;
    pair.say(10);
    CHECK(pair.ours().is_unread());
    CHECK(pair.ours().read());
    CHECK_FALSE(pair.ours().is_unread());
    CHECK(pair.ours().received().size() == 10);
    pair.ours().reported(EPOLLOUT);
    CHECK_FALSE(pair.ours().is_unread());
    pair.say(5);
    pair.ours().reported(EPOLLIN | EPOLLOUT);
    CHECK(pair.ours().is_unread());
    CHECK(pair.ours().read());
    CHECK(pair.ours().received().size() == 15);
    pair.ours().reported(EPOLLIN);
    CHECK(pair.ours().read());
    CHECK_FALSE(pair.ours().is_unread());
}

TEST_CASE("N-7, fault 84: the end of a socket between nodes is seen though it was reported with the last bytes") {
    Pair pair;
    pair.say(10);
    pair.other = FileDescriptor();
    pair.ours().reported(EPOLLIN | EPOLLRDHUP | EPOLLHUP);
    CHECK_FALSE(pair.ours().read());
    CHECK(pair.ours().problem() == "it closed the link");
    CHECK(pair.ours().received().size() == 10);
}

TEST_CASE(
    "N-7, fault 84: the end of a socket between nodes is seen when it is reported after the last bytes were read") {
    Pair pair;
    pair.say(10);
    CHECK(pair.ours().read());
    pair.other = FileDescriptor();
    pair.ours().reported(EPOLLIN | EPOLLRDHUP);
    CHECK_FALSE(pair.ours().read());
    CHECK(pair.ours().received().size() == 10);
}
