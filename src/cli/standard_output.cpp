#include "cli/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/core.h>

namespace muster {

ExitCode print_result(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (written) return ExitCode::ok;
    fmt::print(stderr, "muster: cannot write to standard output: {}\n", std::strerror(errno));
    return ExitCode::io;
}

void print_problems(std::span<const std::string> problems) {
    for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
}

}  // namespace muster
