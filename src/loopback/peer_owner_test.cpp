#include "loopback/peer_owner.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>

#include <doctest/doctest.h>
#include <unistd.h>

#include "testing/loopback_peer.h"

using namespace muster;

namespace {

struct Listener {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::uint16_t port = 0;

    Listener() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        REQUIRE(::listen(fd, 8) == 0);
        REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
        port = ntohs(address.sin_port);
    }
    ~Listener() { ::close(fd); }
};

}  // namespace

TEST_CASE("G-20: the kernel says whose process is at the other end of a loopback connection") {
    const Listener listener;
    const LoopbackPeer peer(listener.port);
    const int fd = ::accept(listener.fd, nullptr, nullptr);
    REQUIRE(fd >= 0);
    CHECK(peer_owner(fd) == geteuid());
    ::close(fd);
    CHECK(!peer_owner(listener.fd));
    CHECK(!peer_owner(-1));
}

TEST_CASE("G-20: a peer that has closed belongs to nobody, though the kernel would say root") {
    const Listener listener;
    {
        const LoopbackPeer peer(listener.port);
        peer.send("POST /ready");
    }
    const int fd = ::accept(listener.fd, nullptr, nullptr);
    REQUIRE(fd >= 0);
    CHECK(!peer_owner(fd));
    ::close(fd);
}

TEST_CASE("G-20: another user's process is seen as that user's") {
    if (geteuid() != 0) return;  // only root can become another
    const Listener listener;
    std::array<int, 2> done{};
    REQUIRE(::pipe(done.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (::setuid(65534) != 0) ::_exit(1);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(listener.port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int mine = ::socket(AF_INET, SOCK_STREAM, 0);
        const int failed = ::connect(mine, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        char end = 0;
        ::close(done[1]);
        (void)!::read(done[0], &end, 1);
        ::_exit(failed == 0 ? 0 : 2);
    }
    const int fd = ::accept(listener.fd, nullptr, nullptr);
    REQUIRE(fd >= 0);
    CHECK(peer_owner(fd) == uid_t{65534});
    ::close(fd);
    ::close(done[0]);
    ::close(done[1]);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
}
