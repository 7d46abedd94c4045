#include "http/host_check.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/ip_address.h"

namespace muster {
namespace {

constexpr std::size_t host_bytes_max = 272;  // the longest name, brackets or a dot at its end, a port

bool is_port(std::string_view text) {
    return text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The host without its port and brackets; none when it is not of that form.
std::optional<std::string_view> without_port(std::string_view host) {
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view rest = host.substr(end + 1);
        if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return std::nullopt;
        return host.substr(1, end - 1);
    }
    const std::size_t colon = host.find(':');
    if (colon != std::string_view::npos && !is_port(host.substr(colon + 1))) return std::nullopt;
    return host.substr(0, colon);
}

}  // namespace

bool host_is_known(std::string_view host, std::span<const std::string> further) {
    if (host.empty() || host.size() > host_bytes_max) return false;
    const auto name = without_port(host);
    if (!name) return false;
    std::string lower(*name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (lower == "localhost" || IpAddress::parse(lower)) return true;
    return std::find(further.begin(), further.end(), lower) != further.end();
}

}  // namespace muster
