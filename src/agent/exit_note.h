// How a life of a process ended, as its keeper writes it beside the process's record: for an agent that was not there.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "agent/process.h"

namespace muster {

struct ExitNote {
    std::string life{};
    ExitStatus status{};  // its code or its signal
};

// One line: "LIFE code 3" or "LIFE signal 11".
std::string to_text(const ExitNote& note);
// None when the text is no such line.
std::optional<ExitNote> parse_exit_note(std::string_view text);

// What waitid() told of one that has ended.
ExitStatus status_of(const siginfo_t& info);

}  // namespace muster
