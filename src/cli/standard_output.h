// What a command says to whoever runs it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "process/exit_code.h"

namespace muster {

// Writes all of it to standard output. io when that fails, as on a full disk.
ExitCode print_result(std::string_view text);

// One line each on standard error.
void print_problems(std::span<const std::string> problems);

}  // namespace muster
