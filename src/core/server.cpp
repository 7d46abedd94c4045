#include "core/server.h"

#include <fmt/format.h>

namespace muster {

std::string Endpoint::to_string() const {
    return ip.is_v4() ? fmt::format("{}:{}", ip.to_string(), port) : fmt::format("[{}]:{}", ip.to_string(), port);
}

}  // namespace muster
