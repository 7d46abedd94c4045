// An IPv4 or IPv6 address in one canonical form, so that two spellings of one host are equal.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

class IpAddress {
public:
    // A literal only: no names, no zones ("fe80::1%eth0"), no ports. An IPv4 address mapped into IPv6 is that IPv4
    // address.
    static std::optional<IpAddress> parse(std::string_view text);
    static IpAddress v4(std::array<std::uint8_t, 4> bytes);
    static IpAddress v6(std::array<std::uint8_t, 16> bytes);

    std::string to_string() const;

    bool is_v4() const;
    bool is_loopback() const;
    bool is_unspecified() const;
    bool is_multicast() const;

    // What one machine may have all of: an IPv4 address, the /64 network of an IPv6 one.
    IpAddress network() const;

    // IPv6 form; an IPv4 address stands in its last four bytes, after ::ffff.
    const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }

    friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

private:
    std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace muster

template <>
struct std::hash<muster::IpAddress> {
    std::size_t operator()(const muster::IpAddress& address) const noexcept {
        const auto& bytes = address.bytes();
        return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
};
