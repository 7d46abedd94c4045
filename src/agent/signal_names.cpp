#include "agent/signal_names.h"

#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace muster {
namespace {

struct Named {
    std::string_view name;
    int number;
};

constexpr Named stop_signals[] = {{"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},   {"SIGQUIT", SIGQUIT}, {"SIGHUP", SIGHUP},
                                  {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGKILL", SIGKILL}};

}  // namespace

std::optional<int> stop_signal_named(std::string_view name) {
    for (const Named& each : stop_signals)
        if (each.name == name) return each.number;
    return std::nullopt;
}

std::vector<std::string> stop_signal_names() {
    std::vector<std::string> names;
    for (const Named& each : stop_signals) names.emplace_back(each.name);
    return names;
}

std::string signal_name(int signal) {
    const char* name = sigabbrev_np(signal);
    return name ? fmt::format("SIG{}", name) : fmt::format("SIG {}", signal);
}

std::string to_text(const ExitStatus& status) {
    if (status.signal) return fmt::format("signal {} ({})", *status.signal, signal_name(*status.signal));
    if (status.machine_went_down) return "the machine went down";
    return status.code ? fmt::format("exit code {}", *status.code) : "exit status unknown";
}

}  // namespace muster
