// A plain TCP client for tests of the HTTP server: sends bytes as they are, reads what comes.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace muster {

class TestClient {
public:
    // From 127.0.0.`host`.
    explicit TestClient(std::uint16_t port, std::uint8_t host = 1)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{10, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        sockaddr_in from{};
        from.sin_family = AF_INET;
        from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
        if (::bind(fd_, reinterpret_cast<sockaddr*>(&from), sizeof(from)) != 0)
            throw std::runtime_error("cannot bind to a loopback address");
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
            throw std::runtime_error("cannot connect to the server under test");
    }
    TestClient(TestClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)), read_(std::move(other.read_)) {}
    TestClient& operator=(TestClient&&) = delete;
    ~TestClient() {
        if (fd_ >= 0) ::close(fd_);
    }

    // Short of all only when the server has closed.
    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    // One whole answer, header and body; what there was of it when the connection ended before.
    std::string answer(bool to_head = false) {
        std::size_t header_end = 0;
        while ((header_end = read_.find("\r\n\r\n")) == std::string::npos)
            if (!read_more()) return std::exchange(read_, {});
        const std::size_t size = header_end + 4 + (to_head ? 0 : content_length(header_end));
        while (read_.size() < size)
            if (!read_more()) return std::exchange(read_, {});
        std::string one = read_.substr(0, size);
        read_.erase(0, size);
        return one;
    }

    // All that comes until the server ends the connection.
    std::string rest() {
        while (read_more()) {
        }
        return std::exchange(read_, {});
    }

    // What comes next, as much of it as there is; nothing once the server has ended the connection.
    std::string some() {
        if (read_.empty()) read_more();
        return std::exchange(read_, {});
    }

    // Whether there is something to read, an end included. Does not wait.
    bool has_something() const {
        pollfd look{fd_, POLLIN, 0};
        return !read_.empty() || ::poll(&look, 1, 0) == 1;
    }

    // True when the server has ended the connection, with nothing left unread.
    bool ended() { return read_.empty() && !read_more(); }

    std::string ask(std::string_view request) {
        send(request);
        return answer();
    }

private:
    bool read_more() {
        char buffer[4096];
        const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
        if (got <= 0) return false;
        read_.append(buffer, static_cast<std::size_t>(got));
        return true;
    }

    std::size_t content_length(std::size_t header_end) const {
        constexpr std::string_view name = "\r\nContent-Length: ";
        const std::size_t at = read_.find(name);
        if (at == std::string::npos || at > header_end) return 0;
        return std::strtoul(read_.c_str() + at + name.size(), nullptr, 10);
    }

    int fd_;
    std::string read_;
};

}  // namespace muster
