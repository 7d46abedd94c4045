// Unpredictable random bytes, passed in where secrets are made. The daemon passes SystemEntropy; the simulator passes a
// seeded source.
#pragma once

#include <cstddef>
#include <span>

namespace muster {

class Entropy {
public:
    virtual ~Entropy() = default;
    virtual void fill(std::span<std::byte> out) = 0;
};

// The operating system's random source. Any thread. Ends the process when there is none.
class SystemEntropy final : public Entropy {
public:
    void fill(std::span<std::byte> out) override;
};

}  // namespace muster
