#include "base/entropy.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace muster {

void SystemEntropy::fill(std::span<std::byte> out) {
    while (!out.empty()) {
        const ssize_t got = getrandom(out.data(), out.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        MUSTER_CHECK(got > 0, "the operating system gives random bytes");
        out = out.subspan(static_cast<std::size_t>(got));
    }
}

void PooledEntropy::fill(std::span<std::byte> out) {
    if (out.size() > pool_bytes) return from_.fill(out);
    if (out.size() > pool_bytes - given_) {
        from_.fill(pool_);
        given_ = 0;
    }
    const auto given = std::span(pool_).subspan(given_, out.size());
    std::ranges::copy(given, out.begin());
    std::ranges::fill(given, std::byte{0});
    given_ += out.size();
}

}  // namespace muster
