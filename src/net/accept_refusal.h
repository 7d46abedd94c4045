// Why a newcomer was closed at once, by the name that metrics show (faults 27 and 33).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

enum class AcceptRefusal : std::uint8_t {
    per_ip,       // its address has as many connections as it may have
    per_port,     // the port has
    accept_rate,  // its address came too often within a second
    descriptors,  // the open files that are left are kept for the other ports
};
inline constexpr std::array accept_refusals{AcceptRefusal::per_ip, AcceptRefusal::per_port, AcceptRefusal::accept_rate,
                                            AcceptRefusal::descriptors};

constexpr std::string_view to_string(AcceptRefusal reason) {
    switch (reason) {
        case AcceptRefusal::per_ip:
            return "per_ip";
        case AcceptRefusal::per_port:
            return "per_port";
        case AcceptRefusal::accept_rate:
            return "accept_rate";
        case AcceptRefusal::descriptors:
            return "descriptors";
    }
    return "";
}

}  // namespace muster
