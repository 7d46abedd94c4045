#include "sdk/src/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "sdk/src/earliest.h"

namespace muster::sdk {

namespace {

constexpr std::size_t read_size = 64 * 1024;
constexpr int reads_per_turn_max = 16;

#ifdef MSG_NOSIGNAL
constexpr int send_flags = MSG_NOSIGNAL;
#else
constexpr int send_flags = 0;
#endif

void set_option(int fd, int level, int name) {
    const int on = 1;
    setsockopt(fd, level, name, &on, sizeof on);
}

void prepare(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY);  // heartbeats are small, and clocks are set by them
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE);
#ifdef SO_NOSIGPIPE
    set_option(fd, SOL_SOCKET, SO_NOSIGPIPE);
#endif
}

bool would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

std::string words(int error) {
    return std::generic_category().message(error);
}

}  // namespace

Connection::Connection(Client& client, std::vector<TcpAddress> addresses, std::shared_ptr<const WakePipe> wake,
                       const OnError& on_error, std::shared_ptr<const TlsSource> tls)
    : client_(client),
      addresses_(std::move(addresses)),
      wake_(std::move(wake)),
      on_error_(on_error),
      tls_source_(std::move(tls)) {}

Connection::~Connection() {
    close_socket();
}

void Connection::turn(Time now) {
    const bool wanted = client_.wants_connection();
    if (stage_ == Stage::none && wanted) {
        tried_ = 0;
        look_up(now);
    }
    // Literals are there at once, so that all addresses may be through in one turn.
    while (stage_ == Stage::looking_up) {
        auto found = lookup_->found();
        if (!found) break;
        targets_ = *std::move(found);
        std::ranges::reverse(targets_);
        last_error_ = 0;
        connect_next(now);
    }
    if (stage_ == Stage::connecting && give_up_at_ && now >= *give_up_at_) {
        last_error_ = ETIMEDOUT;
        connect_next(now);
    }
    if (stage_ == Stage::securing && give_up_at_ && now >= *give_up_at_) return lose(now, "no TLS handshake in time");
    if (stage_ == Stage::open || stage_ == Stage::securing) write(now);
    if (stage_ != Stage::none && !wanted) close_when_flushed(now);
}

std::optional<Time> Connection::next_turn() const {
    return earliest({client_.next_tick(), give_up_at_});
}

pollfd Connection::interest() const {
    if (stage_ == Stage::connecting) return {.fd = fd_, .events = POLLOUT, .revents = 0};
    if (stage_ != Stage::open && stage_ != Stage::securing) return {.fd = -1, .events = 0, .revents = 0};
    const int events = POLLIN | (flushed() ? 0 : POLLOUT);
    return {.fd = fd_, .events = static_cast<short>(events), .revents = 0};
}

void Connection::ready(short events, Time now) {
    if (stage_ == Stage::connecting && events != 0) {
        socklen_t size = sizeof last_error_;
        getsockopt(fd_, SOL_SOCKET, SO_ERROR, &last_error_, &size);
        if (last_error_ == 0) {
            connected(now);
        } else {
            connect_next(now);
        }
        return;
    }
    if ((stage_ == Stage::open || stage_ == Stage::securing) && (events & (POLLIN | POLLHUP | POLLERR)) != 0) read(now);
}

void Connection::lose(Time now, const std::string& why) {
    if (stage_ == Stage::none) return;
    close_socket();
    stage_ = Stage::none;
    lookup_.reset();
    give_up_at_.reset();
    unsent_.clear();
    unsent_from_ = 0;
    if (!why.empty()) tell_failure(ErrorCode::connection_lost, why);
    // Whoever was there is gone, or was not the one: the next attempt begins with the next.
    at_ = (at_ + 1) % addresses_.size();
    client_.disconnected(now);
}

void Connection::look_up(Time now) {
    stage_ = Stage::looking_up;
    try {
        lookup_.emplace(address(), wake_);
    } catch (const std::system_error& error) {
        lose(now, error.what());
    }
}

void Connection::connect_next(Time now) {
    close_socket();
    while (!targets_.empty()) {
        const SocketAddress target = targets_.back();
        targets_.pop_back();
        fd_ = socket(target.storage.ss_family, SOCK_STREAM, 0);
        if (fd_ >= 0) {
            prepare(fd_);
            stage_ = Stage::connecting;
            give_up_at_ = now + connect_max;
            if (connect(fd_, target.get(), target.size) == 0) return connected(now);
            if (errno == EINPROGRESS || errno == EINTR) return;
        }
        last_error_ = errno;
        close_socket();
    }
    if (last_error_ == 0) {
        tell_failure(ErrorCode::address_not_found, "no such host");
    } else {
        tell_failure(ErrorCode::connection_lost, words(last_error_));
    }
    if (!look_up_next(now)) lose(now);
}

// False when all addresses were tried in this attempt.
bool Connection::look_up_next(Time now) {
    if (tried_ + 1 >= addresses_.size()) return false;
    ++tried_;
    at_ = (at_ + 1) % addresses_.size();
    give_up_at_.reset();
    look_up(now);
    return true;
}

void Connection::connected(Time now) {
    is_heard_ = false;
    if (!tls_source_) return opened(now);
    stage_ = Stage::securing;
    give_up_at_ = now + connect_max;
    // A session is of one host: another may not know it. And it was agreed on with one certificate and one authority:
    // with others we, and Muster, judge anew.
    auto settings = tls_source_->latest();
    const bool is_same = tls_host_ == address().host && tls_settings_ == settings;
    tls_host_ = address().host;
    tls_settings_ = std::move(settings);
    tls_ = std::make_unique<TlsClient>(tls_settings_, address().host, is_same ? tls_.get() : nullptr);
    tls_->begin(unsent_);
    write(now);
}

void Connection::opened(Time now) {
    stage_ = Stage::open;
    give_up_at_.reset();
    client_.connected(now);
    write(now);
}

void Connection::read(Time now) {
    std::array<std::byte, read_size> buffer;
    for (int i = 0; i < reads_per_turn_max && (stage_ == Stage::open || stage_ == Stage::securing); ++i) {
        const auto got = recv(fd_, buffer.data(), buffer.size(), 0);
        if (got == 0) return lose(now, of_peer("closed by Muster"));
        if (got < 0) {
            if (!would_block(errno)) lose(now, of_peer(words(errno)));
            return;
        }
        is_heard_ = true;
        take(std::span(buffer).first(static_cast<std::size_t>(got)), now);
        if (static_cast<std::size_t>(got) < buffer.size()) return;
    }
}

void Connection::take(std::span<const std::byte> received, Time now) {
    if (tls_source_) return take_sealed(received, now);
    client_.receive(received, now);
}

void Connection::take_sealed(std::span<const std::byte> received, Time now) {
    const auto plain = tls_->receive(received, unsent_);
    const auto state = tls_->state();
    if (stage_ == Stage::securing && (state == TlsClient::State::open || state == TlsClient::State::ended)) opened(now);
    if (!plain.empty() && stage_ == Stage::open) client_.receive(plain, now);
    if (stage_ == Stage::none) return;  // lost by its own answer
    if (state == TlsClient::State::failed) {
        const Outcome why = tls_->failure();
        write(now);  // what TLS says of it to Muster
        if (stage_ != Stage::none) tell_failure(why.code, why.text);
        return lose(now);
    }
    if (state == TlsClient::State::ended) return lose(now, "closed by Muster");
    write(now);
}

// False when there is nothing to send.
bool Connection::fill_unsent() {
    unsent_.clear();
    unsent_from_ = 0;
    if (stage_ != Stage::open) return false;
    if (!tls_source_) {
        unsent_ = client_.take_output();
        return !unsent_.empty();
    }
    const std::vector<std::byte> plain = client_.take_output();
    // A failure shows when the next bytes are read.
    return !plain.empty() && tls_->send(plain, unsent_) && !unsent_.empty();
}

void Connection::write(Time now) {
    while (stage_ == Stage::open || stage_ == Stage::securing) {
        if (unsent_from_ == unsent_.size() && !fill_unsent()) return;
        const auto rest = std::span(unsent_).subspan(unsent_from_);
        const auto sent = send(fd_, rest.data(), rest.size(), send_flags);
        if (sent < 0) {
            if (!would_block(errno)) lose(now, of_peer(words(errno)));
            return;
        }
        unsent_from_ += static_cast<std::size_t>(sent);
    }
}

void Connection::close_when_flushed(Time now) {
    if (!flushed() && !give_up_at_) give_up_at_ = now + flush_max;
    if (flushed() || now >= *give_up_at_) lose(now);
}

void Connection::close_socket() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void Connection::tell_failure(ErrorCode code, const std::string& why) {
    const std::string at = address().to_string();
    tell_error(on_error_, code, at + ": " + why);
    client_.failed(at, {code, why});
}

// How the connection ended, and what that means when Muster never said a word: it tells its own log only.
std::string Connection::of_peer(const std::string& what) const {
    if (is_heard_) return what;
    if (stage_ == Stage::securing)
        return what + " during the TLS handshake: it has no TLS there, or is at a limit; its log says which";
    return what + " before it said anything: it wants TLS there, or is at a limit; its log says which";
}

}  // namespace muster::sdk
