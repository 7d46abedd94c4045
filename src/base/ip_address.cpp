#include "base/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace muster {
namespace {

constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    if (text.empty() || text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos)
        return std::nullopt;
    const std::string terminated(text);
    std::array<std::uint8_t, 4> four{};
    if (inet_pton(AF_INET, terminated.c_str(), four.data()) == 1) return v4(four);
    std::array<std::uint8_t, 16> sixteen{};
    if (inet_pton(AF_INET6, terminated.c_str(), sixteen.data()) == 1) return v6(sixteen);
    return std::nullopt;
}

IpAddress IpAddress::v4(std::array<std::uint8_t, 4> bytes) {
    IpAddress address;
    std::copy(mapped_prefix.begin(), mapped_prefix.end(), address.bytes_.begin());
    std::copy(bytes.begin(), bytes.end(), address.bytes_.begin() + mapped_prefix.size());
    return address;
}

IpAddress IpAddress::v6(std::array<std::uint8_t, 16> bytes) {
    IpAddress address;
    address.bytes_ = bytes;
    return address;
}

std::string IpAddress::to_string() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (!is_v4()) return inet_ntop(AF_INET6, bytes_.data(), text.data(), text.size());
    char* end = text.data();
    for (std::size_t i = mapped_prefix.size(); i < bytes_.size(); ++i) {
        if (i > mapped_prefix.size()) *end++ = '.';
        end = std::to_chars(end, text.data() + text.size(), bytes_[i]).ptr;
    }
    return {text.data(), end};
}

bool IpAddress::is_v4() const {
    return std::equal(mapped_prefix.begin(), mapped_prefix.end(), bytes_.begin());
}

bool IpAddress::is_loopback() const {
    if (is_v4()) return bytes_[12] == 127;
    return std::all_of(bytes_.begin(), bytes_.end() - 1, [](std::uint8_t b) { return b == 0; }) && bytes_[15] == 1;
}

bool IpAddress::is_unspecified() const {
    const auto first = is_v4() ? bytes_.begin() + mapped_prefix.size() : bytes_.begin();
    return std::all_of(first, bytes_.end(), [](std::uint8_t b) { return b == 0; });
}

bool IpAddress::is_multicast() const {
    return is_v4() ? (bytes_[12] & 0xF0) == 0xE0 : bytes_[0] == 0xFF;
}

IpAddress IpAddress::network() const {
    IpAddress network = *this;
    if (!is_v4()) std::fill(network.bytes_.begin() + 8, network.bytes_.end(), std::uint8_t{0});
    return network;
}

}  // namespace muster
