#include "base/ip_range.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace muster {
namespace {

constexpr int bits_all = 128;
constexpr int bits_before_v4 = 96;  // an IPv4 address stands in the last four bytes

}  // namespace

IpAddress masked(const IpAddress& address, int bits) {
    std::array<std::uint8_t, 16> bytes = address.bytes();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const int left = bits - static_cast<int>(i) * 8;
        if (left >= 8) continue;
        const unsigned mask = left <= 0 ? 0U : 0xFF00U >> left;
        bytes[i] = static_cast<std::uint8_t>(bytes[i] & mask);
    }
    return IpAddress::v6(bytes);
}

std::optional<IpRange> IpRange::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto first = IpAddress::parse(text.substr(0, slash));
    if (!first) return std::nullopt;
    IpRange range;
    range.first_ = *first;
    range.shared_bits_ = bits_all;
    if (slash == std::string_view::npos) return range;

    const std::string_view digits = text.substr(slash + 1);
    int length = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    const int before = first->is_v4() ? bits_before_v4 : 0;
    if (length < 0 || length > bits_all - before) return std::nullopt;
    range.shared_bits_ = before + length;
    if (masked(*first, range.shared_bits_) != *first) return std::nullopt;
    return range;
}

IpRange IpRange::of(const IpAddress& first, int bits) {
    IpRange range;
    range.first_ = masked(first, bits);
    range.shared_bits_ = bits;
    return range;
}

bool IpRange::contains(const IpAddress& address) const {
    // ::/0 is all of IPv6; an IPv4 address is none of it.
    return first_.is_v4() == address.is_v4() && masked(address, shared_bits_) == first_;
}

std::string IpRange::to_string() const {
    if (shared_bits_ == bits_all) return first_.to_string();
    return first_.to_string() + "/" + std::to_string(shared_bits_ - (first_.is_v4() ? bits_before_v4 : 0));
}

}  // namespace muster
