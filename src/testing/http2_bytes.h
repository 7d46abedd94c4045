// The bytes of HTTP/2, as a test's peer sends them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

inline const std::string http2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline std::string http2_frame(std::uint8_t kind, std::uint32_t stream, std::string_view payload) {
    std::string bytes;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift);
    bytes += static_cast<char>(kind);
    bytes += '\4';  // the head is whole
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
    return bytes.append(payload);
}

}  // namespace muster
