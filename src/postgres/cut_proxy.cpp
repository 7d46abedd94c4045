#include "postgres/cut_proxy.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include <poll.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr int look_ms = 20;

int unix_socket(const std::string& path, sockaddr_un& address) {
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

}  // namespace

CutProxy::CutProxy(const std::string& folder, const std::string& engine_socket) : engine_socket_(engine_socket) {
    sockaddr_un address{};
    const std::string path = folder + "/.s.PGSQL.5432";
    listener_ = unix_socket(path, address);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || ::listen(listener_, 16) != 0)
        throw std::runtime_error("cannot listen for the test's proxy");
    server_ = std::thread([this] { serve(); });
}

CutProxy::~CutProxy() {
    ending_ = true;
    server_.join();
    for (std::thread& carrier : carriers_) carrier.join();
    ::close(listener_);
}

void CutProxy::cut_after(Way way, std::size_t bytes) {
    has_cut_ = false;
    way_ = static_cast<int>(way);
    left_ = bytes;
    armed_ = true;
}

void CutProxy::serve() {
    while (!ending_) {
        pollfd waiting{listener_, POLLIN, 0};
        if (::poll(&waiting, 1, look_ms) <= 0) continue;
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client >= 0) carriers_.emplace_back([this, client] { carry(client); });
    }
}

void CutProxy::carry(int client) {
    sockaddr_un address{};
    const int engine = unix_socket(engine_socket_, address);
    bool up = ::connect(engine, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    while (up && !ending_) {
        std::array<pollfd, 2> sides{{{client, POLLIN, 0}, {engine, POLLIN, 0}}};
        if (::poll(sides.data(), sides.size(), look_ms) < 0) break;
        if (sides[0].revents != 0) up = forward(client, engine, Way::to_engine);
        if (up && sides[1].revents != 0) up = forward(engine, client, Way::to_client);
    }
    ::close(engine);
    ::close(client);
}

bool CutProxy::forward(int from, int to, Way way) {
    std::array<char, 16 * 1024> bytes;
    const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    auto size = static_cast<std::size_t>(got);
    const bool cuts = armed_ && way_ == static_cast<int>(way) && size > left_;
    if (cuts)
        size = left_;
    else if (armed_ && way_ == static_cast<int>(way))
        left_ -= size;
    (way == Way::to_engine ? to_engine_ : to_client_) += size;
    const bool sent = size == 0 || ::send(to, bytes.data(), size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
    if (!cuts) return sent;
    armed_ = false;
    has_cut_ = true;
    return false;
}

}  // namespace muster
