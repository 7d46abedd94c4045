#include "agent/bound_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "net/file_descriptor.h"

namespace muster {
namespace {

TEST_CASE("G-10: bound sockets are read from the kernel's tables") {
    const std::string table =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000 100\n"
        "   1: 0100007F:1F91 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000 100\n";
    BoundSockets sockets;
    add_bound_sockets(table, true, sockets);
    CHECK(sockets == BoundSockets{{8080, {4711, 1000}}});
    add_bound_sockets(table, false, sockets);
    CHECK(sockets.size() == 3);
    CHECK(sockets.find(8081)->second == BoundSocket{4712, 0});
    add_bound_sockets("garbage\n\n  :\n1: zz:zz zz 0A\n1: zz:zz zz 0A a b c d e f\n", true, sockets);
    CHECK(sockets.size() == 3);
}

struct OwnSocket {
    explicit OwnSocket(int type) : file(socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(bind(file.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        if (type == SOCK_STREAM) REQUIRE(listen(file.number(), 1) == 0);
        socklen_t size = sizeof address;
        getsockname(file.number(), reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
    }
    FileDescriptor file;
    std::uint16_t port = 0;
};

TEST_CASE("G-10: a port is bound by the process that holds its socket, and by no neighbour") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t neighbour = fork();
    REQUIRE(neighbour >= 0);
    if (neighbour == 0) {
        char ignored = 0;
        close(ends[1]);
        _exit(::read(ends[0], &ignored, 1) == 0 ? 0 : 1);  // until we close our end
    }
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
        const OwnSocket own(type);
        const BoundSockets sockets = bound_sockets();
        REQUIRE(sockets.contains(own.port));
        CHECK(has_bound(getpid(), own.port, sockets));
        CHECK_FALSE(has_bound(neighbour, own.port, sockets));
        CHECK_FALSE(has_bound(-1, own.port, sockets));
        BoundSockets another = {{own.port, {1, geteuid()}}};  // no inode of ours
        CHECK_FALSE(has_bound(getpid(), own.port, another));
    }
    close(ends[0]);
    close(ends[1]);
    int status = 0;
    REQUIRE(waitpid(neighbour, &status, 0) == neighbour);
    CHECK(status == 0);
}

}  // namespace
}  // namespace muster
