#include "cli/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace muster {

ExitCode print_result(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (written) return ExitCode::ok;
    print_error("muster: cannot write to standard output: {}\n", std::strerror(errno));
    return ExitCode::io;
}

void print_problems(std::span<const std::string> problems) {
    for (const std::string& problem : problems) print_error("{}\n", problem);
}

}  // namespace muster
