#include "process/service_manager.h"

#include <cstdint>
#include <string>

#include <fmt/core.h>
#include <systemd/sd-daemon.h>

namespace muster {
namespace {

// The environment is kept, so that later calls find the socket too. A manager that cannot be reached changes nothing
// for the service, so failures are not looked at.
void notify(const std::string& state) {
    static_cast<void>(sd_notify(0, state.c_str()));
}

// One line only: further ones would be assignments of their own.
std::string_view first_line(std::string_view text) {
    return text.substr(0, text.find('\n'));
}

}  // namespace

void ServiceManager::ready(std::string_view status) {
    notify(fmt::format("READY=1\nSTATUS={}", first_line(status)));
}

void ServiceManager::status(std::string_view text) {
    notify(fmt::format("STATUS={}", first_line(text)));
}

void ServiceManager::reloading(Time now) {
    const auto since_boot = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
    notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", since_boot.count()));
}

void ServiceManager::stopping() {
    notify("STOPPING=1");
}

std::optional<Duration> ServiceManager::watchdog_interval() const {
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
    return std::chrono::microseconds(microseconds);
}

void ServiceManager::ping() {
    notify("WATCHDOG=1");
}

}  // namespace muster
