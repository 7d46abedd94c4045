#include "base/entropy.h"

#include <sys/random.h>

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

}  // namespace muster
