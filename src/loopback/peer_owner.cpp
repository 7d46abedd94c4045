#include "loopback/peer_owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <unistd.h>

namespace muster {
namespace {

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

private:
    const int fd_;
};

struct Ends {
    sockaddr_storage local{};
    sockaddr_storage peer{};
};

std::optional<Ends> ends_of(int fd) {
    Ends ends;
    socklen_t local_size = sizeof ends.local;
    socklen_t peer_size = sizeof ends.peer;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&ends.local), &local_size) != 0) return std::nullopt;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&ends.peer), &peer_size) != 0) return std::nullopt;
    return ends;
}

void copy_address(const sockaddr_storage& from, __be32 (&address)[4], __be16& port) {
    if (from.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
        address[0] = v4.sin_addr.s_addr;
        port = v4.sin_port;
    } else {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
        std::memcpy(address, &v6.sin6_addr, sizeof address);
        port = v6.sin6_port;
    }
}

struct Question {
    nlmsghdr header{};
    inet_diag_req_v2 request{};
};

}  // namespace

std::optional<uid_t> peer_owner(int fd) {
    const auto ends = ends_of(fd);
    if (!ends) return std::nullopt;

    Question question;
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.request.sdiag_family = static_cast<__u8>(ends->local.ss_family);
    question.request.sdiag_protocol = IPPROTO_TCP;
    question.request.idiag_states = ~__u32{0};
    // The peer's socket: what is our peer is its own address.
    copy_address(ends->peer, question.request.id.idiag_src, question.request.id.idiag_sport);
    copy_address(ends->local, question.request.id.idiag_dst, question.request.id.idiag_dport);
    std::ranges::fill(question.request.id.idiag_cookie, INET_DIAG_NOCOOKIE);

    const Descriptor netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (netlink.get() < 0) return std::nullopt;
    if (send(netlink.get(), &question, sizeof question, 0) != static_cast<ssize_t>(sizeof question))
        return std::nullopt;

    alignas(nlmsghdr) std::array<char, 4096> answer{};
    const ssize_t size = recv(netlink.get(), answer.data(), answer.size(), 0);
    if (size < static_cast<ssize_t>(sizeof(nlmsghdr) + sizeof(inet_diag_msg))) return std::nullopt;
    const auto& header = reinterpret_cast<const nlmsghdr&>(answer);
    if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
    inet_diag_msg found{};
    std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
    // A socket without an inode has been closed: whose it was is not known any more.
    if (found.idiag_inode == 0) return std::nullopt;
    return found.idiag_uid;
}

}  // namespace muster
