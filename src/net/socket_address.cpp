#include "net/socket_address.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"

namespace muster {

std::optional<SocketAddress> SocketAddress::parse(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    const std::string_view number = text.substr(colon + 1);

    // Brackets tell the colons of an IPv6 address from that of the port.
    const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (bracketed != (host.find(':') != std::string_view::npos)) return std::nullopt;

    SocketAddress address;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), address.port);
    if (number.empty() || error != std::errc() || end != number.data() + number.size()) return std::nullopt;
    const auto ip = IpAddress::parse(host);
    if (!ip) return std::nullopt;
    address.ip = *ip;
    return address;
}

std::string SocketAddress::to_string() const {
    const std::string host = ip.is_v4() ? ip.to_string() : "[" + ip.to_string() + "]";
    return host + ":" + std::to_string(port);
}

socklen_t SocketAddress::to_kernel(sockaddr_storage& out) const {
    out = {};
    const auto& bytes = ip.bytes();
    if (ip.is_v4()) {
        auto& v4 = reinterpret_cast<sockaddr_in&>(out);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::copy(bytes.end() - 4, bytes.end(), reinterpret_cast<std::uint8_t*>(&v4.sin_addr));
        return sizeof v4;
    }
    auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::copy(bytes.begin(), bytes.end(), v6.sin6_addr.s6_addr);
    return sizeof v6;
}

SocketAddress SocketAddress::from_kernel(const sockaddr_storage& in) {
    if (in.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(in);
        std::array<std::uint8_t, 4> bytes{};
        std::copy_n(reinterpret_cast<const std::uint8_t*>(&v4.sin_addr), bytes.size(), bytes.begin());
        return {IpAddress::v4(bytes), ntohs(v4.sin_port)};
    }
    MUSTER_CHECK(in.ss_family == AF_INET6, "our sockets are of the internet families");
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(in);
    std::array<std::uint8_t, 16> bytes{};
    std::copy_n(v6.sin6_addr.s6_addr, bytes.size(), bytes.begin());
    return {IpAddress::v6(bytes), ntohs(v6.sin6_port)};
}

}  // namespace muster
