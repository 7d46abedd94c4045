// Repeatable random bytes from a seed, in place of the operating system's: for the simulator, tests, fuzzing and
// benchmarks. Never for real secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/entropy.h"
#include "base/random.h"

namespace muster {

class SeededEntropy final : public Entropy {
public:
    explicit SeededEntropy(std::uint64_t seed) : random_(seed) {}
    void fill(std::span<std::byte> out) override {
        for (std::byte& byte : out) byte = static_cast<std::byte>(random_.below(256));
    }

private:
    Random random_;
};

}  // namespace muster
