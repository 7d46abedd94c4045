#include "agent/proc.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/regular_file.h"

namespace muster {
namespace {

bool can_bind(int family, int type, std::uint16_t port) {
    const FileDescriptor probe(socket(family, type | SOCK_CLOEXEC, 0));
    if (!probe) return true;  // a machine without IPv6
    // As a server would: what an earlier one left in TIME_WAIT is no hindrance.
    const int yes = 1;
    if (type == SOCK_STREAM) setsockopt(probe.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (family == AF_INET6) {
        setsockopt(probe.number(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(port);
        return bind(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
               errno == EADDRNOTAVAIL;
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (bind(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
    // With SO_REUSEADDR only listening tells that somebody else listens.
    return type != SOCK_STREAM || listen(probe.number(), 1) == 0;
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text, std::size_t most) {
    std::vector<std::string_view> words;
    while (words.size() < most) {
        const std::size_t from = text.find_first_not_of(" \t\n");
        if (from == std::string_view::npos) break;
        text.remove_prefix(from);
        const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

std::string text_of_file(const std::filesystem::path& path, std::size_t bytes_max) {
    const FileDescriptor file = open_regular(path, O_RDONLY);
    std::string text;
    if (!file) return text;
    std::array<char, 16 * 1024> piece;
    while (text.size() < bytes_max) {
        const ssize_t got = read(file.number(), piece.data(), piece.size());
        if (got <= 0) break;
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
}

std::optional<ProcStat> parse_stat(std::string_view text) {
    // The name, in parentheses, may hold anything: only what follows its last parenthesis is fields.
    const std::size_t end = text.rfind(')');
    if (end == std::string_view::npos) return std::nullopt;
    const auto words = words_of(text.substr(end + 1), 22);  // from field 3, the state, to field 24
    if (words.size() < 22) return std::nullopt;
    const auto at = [&words](std::size_t field) { return words[field - 3]; };
    const auto parent = whole_number<std::int32_t>(at(4));
    const auto group = whole_number<std::int32_t>(at(5));
    const auto start = whole_number<std::uint64_t>(at(22));
    const auto pages = whole_number<std::int64_t>(at(24));
    std::uint64_t ticks = 0;
    for (const std::size_t field : {14, 15, 16, 17}) {
        const auto used = whole_number<std::uint64_t>(at(field));
        if (!used) return std::nullopt;
        ticks += *used;
    }
    if (!parent || !group || !start || !pages) return std::nullopt;
    static const auto per_second = static_cast<std::uint64_t>(std::max(sysconf(_SC_CLK_TCK), 1L));
    static const std::int64_t page = sysconf(_SC_PAGESIZE);
    const auto cpu = std::chrono::milliseconds(static_cast<std::int64_t>(ticks * 1000 / per_second));
    return ProcStat{*parent, *group, *start, cpu, *pages * page, words[0].front()};
}

std::optional<ProcStat> read_stat(std::int32_t pid) {
    auto stat = parse_stat(text_of_file(fmt::format("/proc/{}/stat", pid)));
    if (stat && (stat->state == 'Z' || stat->state == 'X')) return std::nullopt;
    return stat;
}

ProcEnvironment::ProcEnvironment(std::int32_t pid)
    : text_('\0' + text_of_file(fmt::format("/proc/{}/environ", pid)) + '\0') {}

bool ProcEnvironment::has(std::string_view name, std::string_view value) const {
    return text_.find(fmt::format("{}{}={}{}", '\0', name, value, '\0')) != std::string::npos;
}

std::string ProcEnvironment::value(std::string_view name) const {
    const std::string entry = fmt::format("{}{}=", '\0', name);
    const std::size_t at = text_.find(entry);
    if (at == std::string::npos) return {};
    const std::size_t from = at + entry.size();
    return text_.substr(from, text_.find('\0', from) - from);
}

bool shares_mounts(std::int32_t pid) {
    std::error_code failure;
    const auto theirs = std::filesystem::read_symlink(fmt::format("/proc/{}/ns/mnt", pid), failure);
    return !failure && theirs == std::filesystem::read_symlink("/proc/self/ns/mnt", failure) && !failure;
}

std::vector<std::int32_t> all_processes() {
    std::vector<std::int32_t> found;
    DIR* folder = opendir("/proc");
    if (!folder) return found;
    while (const dirent* entry = readdir(folder)) {
        if (const auto pid = whole_number<std::int32_t>(entry->d_name)) found.push_back(*pid);
    }
    closedir(folder);
    return found;
}

std::string boot_id() {
    std::string text = text_of_file("/proc/sys/kernel/random/boot_id");
    text.erase(std::find(text.begin(), text.end(), '\n'), text.end());
    return text;
}

bool port_is_free(std::uint16_t port) {
    for (const int family : {AF_INET, AF_INET6})
        for (const int type : {SOCK_STREAM, SOCK_DGRAM})
            if (!can_bind(family, type, port)) return false;
    return true;
}

double host_cores() {
    return std::max(1U, std::thread::hardware_concurrency());
}

std::int64_t host_memory_bytes() {
    return std::max<std::int64_t>(1, sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

HostFigures HostMeter::read() {
    HostFigures figures;
    const std::string stat = text_of_file("/proc/stat", 4096);
    const auto words = words_of(stat, 9);  // cpu user nice system idle iowait irq softirq steal
    std::uint64_t total = 0;
    std::uint64_t idle = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::uint64_t ticks = whole_number<std::uint64_t>(words[i]).value_or(0);
        total += ticks;
        if (i == 4 || i == 5) idle += ticks;
    }
    const std::uint64_t busy = total - idle;
    if (total_ != 0 && total > total_ && busy >= busy_)
        figures.cpu_percent = 100.0 * static_cast<double>(busy - busy_) / static_cast<double>(total - total_);
    total_ = total;
    busy_ = busy;

    const std::string memory = text_of_file("/proc/meminfo", 4096);
    const auto of = [&memory](std::string_view name) {
        const std::size_t at = memory.find(name);
        if (at == std::string::npos) return 0.0;
        const auto line = words_of(std::string_view(memory).substr(at + name.size()), 1);
        return line.empty() ? 0.0 : static_cast<double>(whole_number<std::uint64_t>(line[0]).value_or(0));
    };
    const double all = of("MemTotal:");
    if (all > 0) figures.memory_percent = 100.0 * (all - of("MemAvailable:")) / all;
    return figures;
}

}  // namespace muster
