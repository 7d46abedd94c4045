#include "relay/node_socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace muster {
namespace {

std::string error_text(int error) {
    return std::generic_category().message(error);
}

}  // namespace

NodeSocket::NodeSocket(FileDescriptor socket, std::unique_ptr<TlsLink> tls, bool is_client)
    : socket_(std::move(socket)), tls_(std::move(tls)) {
    if (tls_ && is_client) tls_->begin(sealed_);
}

std::string NodeSocket::proven_name() const {
    if (!tls_ || tls_->state() != TlsLink::State::open) return {};
    const auto facts = tls_->peer();
    return facts ? facts->name : std::string();
}

void NodeSocket::reported(std::uint32_t events) {
    constexpr std::uint32_t end = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    if (events & (EPOLLIN | end)) is_unread_ = true;
    if (events & end) is_ending_ = true;
}

// A short read means that the socket is empty, and the next byte will be reported. An end that was reported is not
// reported again, so it is read for.
bool NodeSocket::read() {
    std::array<std::byte, 64 * 1024> buffer;
    for (std::size_t total = 0; total < read_max;) {
        const ssize_t got = recv(socket_.number(), buffer.data(), buffer.size(), 0);
        if (got == 0) return broken("it closed the link");
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == ENOTCONN)) {
            is_unread_ = false;
            return true;
        }
        if (got < 0) return broken(error_text(errno));
        total += static_cast<std::size_t>(got);
        if (!take({buffer.data(), static_cast<std::size_t>(got)})) return false;
        if (static_cast<std::size_t>(got) < buffer.size() && !is_ending_) {
            is_unread_ = false;
            return true;
        }
    }
    return true;
}

bool NodeSocket::take(std::span<const std::byte> bytes) {
    if (!tls_) {
        in_.insert(in_.end(), bytes.begin(), bytes.end());
        return true;
    }
    const std::size_t before = in_.size();
    in_.resize(before + bytes.size() + TlsLink::plain_extra);
    const std::size_t plain = tls_->receive(bytes, std::span(in_).subspan(before), sealed_);
    in_.resize(before + plain);
    if (tls_->state() == TlsLink::State::failed)
        return broken("TLS: " +
                      (tls_->failure_text().empty() ? std::string(to_string(tls_->failure())) : tls_->failure_text()));
    if (tls_->state() == TlsLink::State::ended) return broken("it closed the link");
    return true;
}

void NodeSocket::consume(std::size_t count) {
    taken_ += count;
    if (taken_ < in_.size() / 2) return;
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
}

bool NodeSocket::write() {
    if (!out_.empty() && is_secured()) {
        if (!tls_) {
            if (sealed_.empty())
                sealed_.swap(out_);
            else
                sealed_.insert(sealed_.end(), out_.begin(), out_.end());
        } else if (!tls_->send(out_, sealed_)) {
            return broken("TLS: the link is broken");
        }
        out_.clear();
    }
    while (sent_ < sealed_.size()) {
        const ssize_t sent = send(socket_.number(), sealed_.data() + sent_, sealed_.size() - sent_, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        // A connection that is not made yet takes nothing, either.
        if (sent < 0 && (errno == EAGAIN || errno == ENOTCONN)) {
            // What was sent goes when it is most of it, so that each byte is moved once or twice at most.
            if (sent_ < sealed_.size() / 2) return true;
            sealed_.erase(sealed_.begin(), sealed_.begin() + static_cast<std::ptrdiff_t>(sent_));
            sent_ = 0;
            return true;
        }
        if (sent < 0) return broken(error_text(errno));
        sent_ += static_cast<std::size_t>(sent);
    }
    sealed_.clear();
    sent_ = 0;
    return true;
}

bool NodeSocket::broken(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
    return false;
}

}  // namespace muster
