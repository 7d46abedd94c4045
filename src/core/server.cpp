#include "core/server.h"

#include <utility>

#include <fmt/format.h>

namespace muster {

std::string Endpoint::to_string() const {
    return ip.is_v4() ? fmt::format("{}:{}", ip.to_string(), port) : fmt::format("[{}]:{}", ip.to_string(), port);
}

void Server::set_name(std::string_view name) {
    set_rare({std::string(name), drain()});
}

void Server::set_drain(const DrainNote& note) {
    set_rare({name(), note});
}

const Server::Rare& Server::rare() const {
    static const Rare none;
    return rare_ ? *rare_ : none;
}

void Server::set_rare(Rare&& rare) {
    if (rare == Rare{}) {
        rare_.reset();
    } else {
        rare_ = std::make_unique<Rare>(std::move(rare));
    }
}

}  // namespace muster
