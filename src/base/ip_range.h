// A range of IP addresses, as "203.0.113.0/24", "2001:db8::/32" or one address alone.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.h"

namespace muster {

class IpRange {
public:
    // An address alone is a range of one. None when it is no address, or the length is too long for its kind, or the
    // address has bits beyond the length: a typing error would hide there.
    static std::optional<IpRange> parse(std::string_view text);

    // The range of all addresses that share the first `bits` of their IPv6 form with `first`.
    static IpRange of(const IpAddress& first, int bits);

    bool contains(const IpAddress& address) const;

    // The canonical spelling; parse() reads it back. A range of one is its address.
    std::string to_string() const;

    // The first address of the range, and how many leading bits of IpAddress::bytes() its addresses share.
    const IpAddress& first() const { return first_; }
    int shared_bits() const { return shared_bits_; }

    friend auto operator<=>(const IpRange&, const IpRange&) = default;

private:
    IpAddress first_;
    int shared_bits_ = 0;
};

// The address with all bits after the first `bits` of its IPv6 form cleared.
IpAddress masked(const IpAddress& address, int bits);

}  // namespace muster
