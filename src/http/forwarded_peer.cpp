#include "http/forwarded_peer.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace muster {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Some proxies write a port, too: 10.0.0.7:4711, [::1]:4711.
std::optional<IpAddress> address_in(std::string_view text) {
    if (const auto plain = IpAddress::parse(text)) return plain;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        return end == std::string_view::npos ? std::nullopt : IpAddress::parse(text.substr(1, end - 1));
    }
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) return std::nullopt;
    return IpAddress::parse(text.substr(0, colon));
}

// All headers of the name as one list, as HTTP says they are; nothing when there is none.
std::optional<std::string> forwarded_for(const HttpRequest& request) {
    constexpr std::string_view wanted = "x-forwarded-for";
    std::optional<std::string> all;
    for (const HttpHeader& header : request.headers) {
        const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
        if (!std::equal(header.name.begin(), header.name.end(), wanted.begin(), wanted.end(), same)) continue;
        all = all ? *all + ',' + header.value : header.value;
    }
    return all;
}

}  // namespace

bool ForwardedPeer::is_trusted(const IpAddress& address) const {
    return std::ranges::any_of(trusted_, [&](const IpRange& range) { return range.contains(address); });
}

void ForwardedPeer::resolve(HttpRequest& request) const {
    const auto header = forwarded_for(request);
    if (!header) return;
    request.is_forwarded = true;
    std::string_view left = *header;
    while (!left.empty() && is_trusted(request.peer)) {
        const std::size_t comma = left.rfind(',');
        const auto address = address_in(trimmed(left.substr(comma == std::string_view::npos ? 0 : comma + 1)));
        if (!address) return;
        request.peer = *address;
        left = comma == std::string_view::npos ? std::string_view() : left.substr(0, comma);
    }
}

}  // namespace muster
