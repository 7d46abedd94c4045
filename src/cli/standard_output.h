// What a command says to whoever runs it.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "process/exit_code.h"

namespace muster {

// Writes all of it to standard output. io when that fails, as on a full disk.
ExitCode print_result(std::string_view text);

// Writes to standard error. A failure is ignored: there is nobody left to tell, and the exit code still says the rest.
template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

// One line each on standard error.
void print_problems(std::span<const std::string> problems);

}  // namespace muster
