// A look at a peer's first bytes before OpenSSL sees them: what it says decides how much memory OpenSSL takes for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace muster {

struct HelloLook {
    enum class Kind : std::uint8_t {
        too_few,  // of the bytes to say it
        not_tls,
        unreasonable,  // a first message that is too long, or that says its length in another record
        good,
    };

    // The headers of the first record and of the message in it.
    static constexpr std::size_t size_needed = 9;
    // What a peer's first message may be long. OpenSSL would make room for 128 KB once it says that it is so long.
    static constexpr std::size_t hello_max = std::size_t{16} * 1024;
    // As long as any record without a seal may be.
    static constexpr std::size_t record_max = std::size_t{1} << 14;
    // What `whole` is at most.
    static constexpr std::size_t whole_max = size_needed + hello_max;

    Kind kind = Kind::too_few;
    std::size_t whole = 0;  // when good: at least so many bytes come with the message, headers included
};

// What the handshake record of TLS begins with: a peer that speaks something else is told apart from one whose TLS is
// wrong, by its first byte if need be.
constexpr HelloLook look_at_hello(std::span<const std::byte> first) {
    const auto at = [&](std::size_t i) { return static_cast<std::size_t>(first[i]); };
    if (first.empty()) return {};
    if (at(0) != 0x16 || (first.size() > 1 && at(1) != 0x03)) return {HelloLook::Kind::not_tls};
    if (first.size() < HelloLook::size_needed) return {};
    const std::size_t record = at(3) << 8 | at(4);
    const std::size_t hello = at(6) << 16 | at(7) << 8 | at(8);
    if (record < 4 || record > HelloLook::record_max || hello > HelloLook::hello_max)
        return {HelloLook::Kind::unreasonable};
    return {HelloLook::Kind::good, std::max(std::size_t{5} + record, HelloLook::size_needed + hello)};
}

}  // namespace muster
