#include "config/listen_address.h"

#include <charconv>

#include <fmt/core.h>

namespace muster {

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return port;
}

namespace {

std::optional<IpAddress> parse_host(std::string_view text) {
    if (text == "localhost") return ListenAddress::loopback(0).host;
    const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
    if (bracketed) text = text.substr(1, text.size() - 2);
    // An IPv6 address needs its brackets, or its last group would read as the port.
    const bool has_colon = text.find(':') != std::string_view::npos;
    if (has_colon != bracketed) return std::nullopt;
    return IpAddress::parse(text);
}

}  // namespace

std::optional<ListenAddress> ListenAddress::parse(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto host = parse_host(text.substr(0, colon));
    const auto port = parse_port(text.substr(colon + 1));
    if (!host || !port) return std::nullopt;
    return ListenAddress{*host, *port};
}

ListenAddress ListenAddress::loopback(std::uint16_t port) {
    return {IpAddress::v4({127, 0, 0, 1}), port};
}

std::string ListenAddress::to_string() const {
    return host.is_v4() ? fmt::format("{}:{}", host.to_string(), port) : fmt::format("[{}]:{}", host.to_string(), port);
}

bool collide(const ListenAddress& one, const ListenAddress& other) {
    if (one.port != other.port || one.port == 0) return false;
    return one.host == other.host || one.host.is_unspecified() || other.host.is_unspecified();
}

}  // namespace muster
