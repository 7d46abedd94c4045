#include "honest_operator.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "stage.h"

namespace muster::storm {
namespace {

constexpr timeval patience{15, 0};
constexpr Span pause_between = 20ms;
constexpr Span stream_length = 2s;

int connected(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
    ::close(socket);
    return -1;
}

bool send_text(int socket, const std::string& text) {
    return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// 0 when it is no answer.
int status_of(std::string_view answer) {
    constexpr std::string_view start = "HTTP/1.1 ";
    constexpr std::size_t digits = 3;
    if (!answer.starts_with(start) || answer.size() < start.size() + digits) return 0;
    return std::atoi(std::string(answer.substr(start.size(), digits)).c_str());
}

}  // namespace

HonestOperator::HonestOperator() : thread_([this] { run(); }) {}

HonestOperator::~HonestOperator() {
    ends_ = true;
    thread_.join();
    if (stream_ >= 0) ::close(stream_);
}

std::vector<OperatorSaw> HonestOperator::fetch() {
    const std::lock_guard lock(mutex_);
    return std::exchange(saw_, {});
}

void HonestOperator::saw(OperatorSaw one) {
    const std::lock_guard lock(mutex_);
    saw_.push_back(std::move(one));
}

void HonestOperator::run() {
    const std::array<std::string, 8> lists{"/readyz",         "/api/v1/servers", "/api/v1/matches", "/api/v1/players",
                                           "/api/v1/regions", "/metrics",        "/api/v1/events",  "/api/v1/clock"};
    for (std::size_t turn = 0; !ends_; ++turn) {
        const std::uint16_t port = port_;
        if (port != 0) {
            constexpr std::size_t list_every = 8;
            constexpr std::size_t act_after = 4;
            const bool list = turn % list_every == 0;
            if (turn % list_every == act_after) {
                act(port);
            } else {
                ask(port, list ? lists[turn / list_every % lists.size()] : "/healthz");
            }
            listen(port);
        }
        std::this_thread::sleep_for(pause_between);
    }
}

void HonestOperator::ask(std::uint16_t port, const std::string& path) {
    send(port, {path, now(), {}},
         fmt::format("GET {} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n", path, port));
}

// With the right token, whatever others guess. It kicks a player that is not there.
void HonestOperator::act(std::uint16_t port) {
    constexpr int not_found = 404;
    send(port, {"its action", now(), {}, 0, not_found},
         fmt::format(
             "POST /api/v1/players/2000000000/kick HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\n"
             "Connection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}",
             port, Secrets{}.admin_token));
}

void HonestOperator::send(std::uint16_t port, OperatorSaw one, const std::string& request) {
    const int socket = connected(port);
    std::string answer;
    if (socket >= 0 && send_text(socket, request)) {
        std::array<char, 16 * 1024> part;
        ssize_t got = 0;
        while ((got = ::recv(socket, part.data(), part.size(), 0)) > 0)
            answer.append(part.data(), static_cast<std::size_t>(got));
    }
    if (socket >= 0) ::close(socket);
    one.status = status_of(answer);
    one.at = now();
    saw(std::move(one));
}

// Keeps one stream of events open, and takes what has come. Now and then it opens the page anew.
void HonestOperator::listen(std::uint16_t port) {
    if (stream_ < 0 || stream_port_ != port || now() - stream_began_ > stream_length) {
        if (stream_ >= 0) ::close(stream_);
        stream_ = connected(port);
        stream_port_ = port;
        stream_began_ = now();
        stream_status_ = 0;
        const std::string request =
            fmt::format("GET /api/v1/events HTTP/1.1\r\nHost: localhost:{}\r\nAccept: text/event-stream\r\n\r\n", port);
        if (stream_ >= 0) send_text(stream_, request);
        return;
    }
    std::array<char, 64 * 1024> part;
    const ssize_t got = ::recv(stream_, part.data(), part.size(), MSG_DONTWAIT);
    if (got > 0 && stream_status_ == 0) stream_status_ = status_of({part.data(), static_cast<std::size_t>(got)});
    const bool refused = got > 0 && stream_status_ != 200;
    if (!refused && (got > 0 || (got < 0 && errno == EAGAIN))) return;
    ::close(stream_);
    stream_ = -1;
    const bool was_good = stream_status_ == 200;
    saw({was_good ? stream_lost : "the live events", stream_began_, now(), refused ? stream_status_ : 0});
}

}  // namespace muster::storm
