// Unpredictable random bytes, passed in where secrets are made. The daemon passes SystemEntropy; the simulator passes a
// seeded source.
#pragma once

#include <array>
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

// Asks another source for many bytes at once, for who needs a few of them again and again: a system call for each match
// token was 3 % of what the game thread does for a match. They are no easier to guess: each byte is given to one
// caller only, and gone from here then. One thread at a time; not for a process that forks and goes on in both.
class PooledEntropy final : public Entropy {
public:
    static constexpr std::size_t pool_bytes = 512;

    // `from` outlives it.
    explicit PooledEntropy(Entropy& from) : from_(from) {}
    void fill(std::span<std::byte> out) override;

private:
    Entropy& from_;
    std::array<std::byte, pool_bytes> pool_{};
    std::size_t given_ = pool_bytes;  // of the pool, from its beginning
};

}  // namespace muster
