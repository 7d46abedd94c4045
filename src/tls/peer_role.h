// What a certificate says its owner is: the OU of its subject (S-2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

enum class PeerRole : std::uint8_t { server, matchmaker, agent, node, operator_ };
inline constexpr std::array peer_roles{PeerRole::server, PeerRole::matchmaker, PeerRole::agent, PeerRole::node,
                                       PeerRole::operator_};

constexpr std::string_view to_string(PeerRole role) {
    switch (role) {
        case PeerRole::server:
            return "server";
        case PeerRole::matchmaker:
            return "matchmaker";
        case PeerRole::agent:
            return "agent";
        case PeerRole::node:
            return "node";
        case PeerRole::operator_:
            return "operator";
    }
    return "";
}

constexpr std::optional<PeerRole> parse_peer_role(std::string_view text) {
    for (const PeerRole role : peer_roles) {
        if (to_string(role) == text) return role;
    }
    return std::nullopt;
}

}  // namespace muster
