#include "peer_links.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "protocol/frame_reader.h"

namespace muster::bench {
namespace {

constexpr std::uint16_t any_length = 65'535;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

PeerLinks::PeerLinks(std::size_t count, PeerEvents& events) : told_(events), links_(count), events_(1024) {
    poll_ = epoll_create1(EPOLL_CLOEXEC);
    if (poll_ < 0) fail("epoll_create1");
}

PeerLinks::~PeerLinks() {
    for (std::size_t i = 0; i < links_.size(); ++i) cut(i);
    ::close(poll_);
}

void PeerLinks::open(std::size_t number, std::uint16_t port, PeerEnd end) {
    Link& link = links_[number];
    if (link.socket >= 0) throw std::runtime_error("a link is opened once at a time");
    link.socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link.socket < 0) fail("socket");
    const int on = 1;
    setsockopt(link.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const linger reset{1, 0};
    setsockopt(link.socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    setsockopt(link.socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    link.connecting = true;
    link.unread = false;
    link.end = end;
    link.in.clear();
    link.out.clear();
    link.sealed.clear();
    link.tls = end.tls ? std::make_unique<TlsLink>(end.tls, "127.0.0.1", link.session.get()) : nullptr;
    if (link.tls) link.tls->begin(link.sealed);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(end.address);
    if (bind(link.socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind");
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (connect(link.socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS)
        return lose(number);
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    interest.data.u64 = number;
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, link.socket, &interest) != 0) fail("epoll_ctl");
}

void PeerLinks::cut(std::size_t number) {
    Link& link = links_[number];
    if (link.socket >= 0) ::close(link.socket);
    link.socket = -1;
    if (link.tls && link.end.resumes) link.session = link.tls->session();
    link.tls.reset();
}

void PeerLinks::leave_unread(std::size_t number, bool unread) {
    links_[number].unread = unread;
    if (!unread && links_[number].socket >= 0 && !links_[number].connecting) read(number, true);
}

void PeerLinks::lose(std::size_t number) {
    cut(number);
    told_.closed(number);
}

void PeerLinks::turn(std::chrono::nanoseconds wait) {
    flushing_.swap(unsent_);
    // All are sealed before the first is sent: what TLS costs here must not space out what the other side reads.
    for (const std::size_t number : flushing_) seal(links_[number]);
    for (const std::size_t number : flushing_) {
        links_[number].listed = false;
        flush(number);
    }
    flushing_.clear();

    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    const int ready = epoll_wait(poll_, events_.data(), static_cast<int>(events_.size()), static_cast<int>(ms));
    if (ready < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < ready; ++i) {
        const epoll_event& event = events_[static_cast<std::size_t>(i)];
        const auto number = static_cast<std::size_t>(event.data.u64);
        Link& link = links_[number];
        if (link.socket < 0) continue;
        if (link.connecting && (event.events & (EPOLLERR | EPOLLHUP))) {
            lose(number);
            continue;
        }
        if (event.events & EPOLLOUT) {
            if (link.connecting) {
                link.connecting = false;
                if (!link.tls) told_.opened(number);
            }
            flush(number);
        }
        const bool ends = (event.events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0;
        if (ends || (event.events & EPOLLIN)) read(number, ends);
    }
}

void PeerLinks::flush(std::size_t number) {
    Link& link = links_[number];
    if (link.socket < 0 || link.connecting) return;
    seal(link);
    send_some(link, link.tls ? link.sealed : link.out);
}

void PeerLinks::seal(Link& link) {
    if (!link.tls || link.tls->state() != TlsLink::State::open || link.out.empty()) return;
    link.tls->send(link.out, link.sealed);
    link.out.clear();
}

// A broken link is found by its next read; a full one is told by the poller when it has room.
void PeerLinks::send_some(Link& link, std::vector<std::byte>& bytes) {
    if (bytes.empty()) return;
    const ssize_t sent = ::send(link.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes.erase(bytes.begin(), bytes.begin() + sent);
}

// A short read took all there was, and whatever comes later is reported anew; only an end is not.
void PeerLinks::read(std::size_t number, bool ends) {
    std::array<std::byte, 64 * 1024> chunk;
    for (bool more = true; more && links_[number].socket >= 0 && !links_[number].unread;) {
        Link& link = links_[number];
        const ssize_t got = recv(link.socket, chunk.data(), chunk.size(), 0);
        more = ends || got == static_cast<ssize_t>(chunk.size());
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) return lose(number);
        const std::span received(chunk.data(), static_cast<std::size_t>(got));
        if (!link.tls) {
            link.in.insert(link.in.end(), received.begin(), received.end());
        } else if (!unseal(number, received)) {
            return lose(number);
        }
        if (!hand_on(number)) return lose(number);
    }
}

// False when TLS has failed, or the other side has ended it.
bool PeerLinks::unseal(std::size_t number, std::span<const std::byte> received) {
    Link& link = links_[number];
    const bool was_open = link.tls->state() == TlsLink::State::open;
    plain_.resize(received.size() + TlsLink::plain_extra);
    const std::size_t got = link.tls->receive(received, plain_, link.sealed);
    link.in.insert(link.in.end(), plain_.begin(), plain_.begin() + static_cast<std::ptrdiff_t>(got));
    const bool is_open = link.tls->state() == TlsLink::State::open;
    send_some(link, link.sealed);
    if (is_open && !was_open) {
        if (link.tls->was_resumed()) ++resumed_;
        told_.opened(number);
        flush(number);
    }
    return is_open || link.tls->state() == TlsLink::State::handshaking;
}

// False for bytes that are no frames.
bool PeerLinks::hand_on(std::size_t number) {
    std::size_t at = 0;
    for (;;) {
        Link& link = links_[number];
        if (link.socket < 0) return true;
        const FrameSplit split = next_frame(std::span(link.in).subspan(at), link.end.order, any_length);
        if (split.kind == FrameSplit::Kind::error) return false;
        if (split.kind == FrameSplit::Kind::need_more) {
            link.in.erase(link.in.begin(), link.in.begin() + static_cast<std::ptrdiff_t>(at));
            return true;
        }
        at += split.size;
        told_.frame(number, split.code, split.payload);
    }
}

}  // namespace muster::bench
