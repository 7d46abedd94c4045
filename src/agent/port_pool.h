// The ports that a host gives its processes: never two processes the same (G-4).
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "agent/run_config.h"

namespace muster {

class PortPool {
public:
    explicit PortPool(PortRange range) : range_(range), next_(range.first) {}

    // The next one that nobody has, in ascending order and round again, so that a port that was just given back rests
    // as long as possible. None when all are taken.
    std::optional<std::uint16_t> take();
    // A port that a process has already. False, and nothing done, when another has it. It may lie outside the range.
    [[nodiscard]] bool claim(std::uint16_t port) { return taken_.insert(port).second; }
    void give_back(std::uint16_t port) { taken_.erase(port); }

    // Ports outside of the new range stay taken until they are given back.
    void set_range(PortRange range);
    const PortRange& range() const { return range_; }
    std::size_t taken() const { return taken_.size(); }

private:
    PortRange range_;
    std::uint16_t next_;
    std::set<std::uint16_t> taken_;
};

}  // namespace muster
