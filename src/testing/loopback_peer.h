// A process of this machine as a test plays it: one plain TCP connection to a loopback port.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <poll.h>
#include <unistd.h>

namespace muster {

class LoopbackPeer {
public:
    explicit LoopbackPeer(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("cannot connect to the loopback port");
    }
    LoopbackPeer(const LoopbackPeer&) = delete;
    LoopbackPeer& operator=(const LoopbackPeer&) = delete;
    ~LoopbackPeer() { ::close(fd_); }

    int fd() const { return fd_; }

    void send(std::string_view bytes) const { (void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

    // What has come so far, once `wanted` is in it; or all, when the peer has closed or ten seconds have passed.
    std::string read_until(std::string_view wanted) {
        while (got_.find(wanted) == std::string::npos && read_more()) {
        }
        return got_;
    }
    std::string read_all() { return read_until("\x01\x02 never sent \x03"); }
    void forget() { got_.clear(); }

    // One request on this connection, and its answer's header and body.
    std::string ask(std::string_view method, std::string_view path, std::string_view body) {
        forget();
        send(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
        read_until("\r\n\r\n");
        const std::size_t at = got_.find("Content-Length: ");
        const std::size_t head = got_.find("\r\n\r\n");
        if (at == std::string::npos || head == std::string::npos) return got_;
        const std::size_t size = std::stoul(got_.substr(at + 16)) + head + 4;
        while (got_.size() < size && read_more()) {
        }
        return got_;
    }

private:
    bool read_more() {
        pollfd waiting{fd_, POLLIN, 0};
        if (::poll(&waiting, 1, 10'000) <= 0) return false;
        std::array<char, 4096> bytes{};
        const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
        if (count <= 0) return false;
        got_.append(bytes.data(), static_cast<std::size_t>(count));
        return true;
    }

    const int fd_;
    std::string got_;
};

}  // namespace muster
