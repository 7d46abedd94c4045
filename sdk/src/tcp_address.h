// "host:port" as a user writes it, and the socket addresses that it stands for.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::sdk {

struct TcpAddress {
    std::string host{};  // without brackets
    std::uint16_t port = 0;

    // "127.0.0.1:11032", "[::1]:11032" or "muster.example:11032". Port 0 is none.
    static std::optional<TcpAddress> parse(std::string_view text);
    // Several of them with commas between: "a:1,b:1". Empty when one is none, or there are more than `list_max`.
    static constexpr std::size_t list_max = 16;
    static std::vector<TcpAddress> parse_list(std::string_view text);
    std::string to_string() const;
    friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Literals only: never waits. Empty when the host is a name.
std::vector<SocketAddress> literal_addresses(const TcpAddress& address);
// Names too: may wait for seconds. Empty when there is no such name.
std::vector<SocketAddress> look_up(const TcpAddress& address);

}  // namespace muster::sdk
