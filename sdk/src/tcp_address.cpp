#include "sdk/src/tcp_address.h"

#include <sys/types.h>

#include <charconv>
#include <cstring>
#include <memory>

#include <netdb.h>

namespace muster::sdk {

namespace {

std::vector<SocketAddress> resolve(const TcpAddress& address, int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* first = nullptr;
    const std::string service = std::to_string(address.port);
    if (getaddrinfo(address.host.c_str(), service.c_str(), &hints, &first) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, &freeaddrinfo);

    std::vector<SocketAddress> found;
    for (const addrinfo* each = first; each; each = each->ai_next) {
        if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
        SocketAddress socket_address{.size = each->ai_addrlen};
        std::memcpy(&socket_address.storage, each->ai_addr, each->ai_addrlen);
        found.push_back(socket_address);
    }
    return found;
}

}  // namespace

std::optional<TcpAddress> TcpAddress::parse(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return std::nullopt;  // an IPv6 literal without brackets: which colon is the port's?
    }
    TcpAddress address{.host = std::string(host)};
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
    const bool number = fault == std::errc{} && end == digits.data() + digits.size();
    if (!number || address.port == 0 || host.empty() || host.find('\0') != std::string_view::npos) return std::nullopt;
    return address;
}

std::vector<TcpAddress> TcpAddress::parse_list(std::string_view text) {
    std::vector<TcpAddress> all;
    for (;;) {
        const std::size_t comma = text.find(',');
        auto one = parse(text.substr(0, comma));
        if (!one || all.size() == list_max) return {};
        all.push_back(*std::move(one));
        if (comma == std::string_view::npos) return all;
        text.remove_prefix(comma + 1);
    }
}

std::string TcpAddress::to_string() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::vector<SocketAddress> literal_addresses(const TcpAddress& address) {
    return resolve(address, AI_NUMERICHOST);
}

std::vector<SocketAddress> look_up(const TcpAddress& address) {
    return resolve(address, AI_ADDRCONFIG);
}

}  // namespace muster::sdk
