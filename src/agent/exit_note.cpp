#include "agent/exit_note.h"

#include <fmt/format.h>

#include "agent/proc.h"

namespace muster {

std::string to_text(const ExitNote& note) {
    if (note.status.signal) return fmt::format("{} signal {}\n", note.life, *note.status.signal);
    return fmt::format("{} code {}\n", note.life, note.status.code.value_or(0));
}

std::optional<ExitNote> parse_exit_note(std::string_view text) {
    if (!text.ends_with('\n')) return std::nullopt;
    const auto words = words_of(text, 4);
    if (words.size() != 3) return std::nullopt;
    const auto number = whole_number<int>(words[2]);
    if (!number || *number < 0 || *number > 255) return std::nullopt;
    if (words[1] == "code") return ExitNote{std::string(words[0]), {.code = number}};
    if (words[1] == "signal" && *number > 0) return ExitNote{std::string(words[0]), {.signal = number}};
    return std::nullopt;
}

ExitStatus status_of(const siginfo_t& info) {
    if (info.si_code == CLD_EXITED) return {.code = info.si_status};
    return {.signal = info.si_status};
}

}  // namespace muster
