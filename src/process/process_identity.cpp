#include "process/process_identity.h"

#include <sys/random.h>

#include <array>
#include <cctype>
#include <climits>
#include <cstdint>
#include <fstream>
#include <iterator>

#include <fmt/core.h>
#include <unistd.h>

namespace muster {
namespace {

// "boot/pid namespace": whose pids we can look at.
std::string place() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    std::array<char, PATH_MAX> name{};
    const ssize_t size = ::readlink("/proc/self/ns/pid", name.data(), name.size());
    if (!std::getline(file, boot) || size <= 0) return {};
    return fmt::format("{}/{}", boot, std::string(name.data(), static_cast<std::size_t>(size)));
}

// When the process began, in ticks since the boot; empty when there is none of that pid.
std::string start_of(const std::string& pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    const std::string stat{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // The second field is the program's name in parentheses, which may hold anything; the start is the 22nd.
    std::size_t at = stat.rfind(')');
    if (at == std::string::npos) return {};
    if (stat.compare(at, 3, ") Z") == 0) return {};  // ended, and nobody has asked how
    constexpr int fields_between = 20;
    for (int i = 0; i < fields_between; ++i) {
        at = stat.find(' ', at + 1);
        if (at == std::string::npos) return {};
    }
    return stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

}  // namespace

std::string process_identity() {
    const std::string here = place();
    const std::string pid = std::to_string(::getpid());
    const std::string start = start_of(pid);
    if (!here.empty() && !start.empty()) return fmt::format("{}/{}/{}", here, pid, start);
    // A sandbox hides it: then it is only different from all others.
    static const std::string unknown = [] {
        std::uint64_t chance = 0;
        if (::getrandom(&chance, sizeof chance, 0) != sizeof chance) chance = static_cast<std::uint64_t>(::getpid());
        return fmt::format("unknown/{:016x}", chance);
    }();
    return unknown;
}

bool has_ended(const std::string& identity) {
    const std::string here = place();
    if (here.empty() || !identity.starts_with(here + "/")) return false;
    const std::string rest = identity.substr(here.size() + 1);
    const std::size_t slash = rest.find('/');
    if (slash == std::string::npos || slash == 0) return false;
    const std::string pid = rest.substr(0, slash);
    for (const char c : pid)
        if (std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
    return start_of(pid) != rest.substr(slash + 1);
}

}  // namespace muster
