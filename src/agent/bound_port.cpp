#include "agent/bound_port.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/proc.h"

namespace muster {
namespace {

// The inode of a descriptor's link, "socket:[4711]"; none when it is no socket.
std::optional<std::uint64_t> socket_inode(std::string_view link) {
    constexpr std::string_view before = "socket:[";
    if (!link.starts_with(before) || !link.ends_with(']')) return std::nullopt;
    link.remove_prefix(before.size());
    link.remove_suffix(1);
    return whole_number<std::uint64_t>(link);
}

// The effective one.
std::optional<std::uint32_t> user_of(std::int32_t pid) {
    const std::string status = text_of_file(fmt::format("/proc/{}/status", pid));
    const std::size_t line = status.find("\nUid:");
    if (line == std::string::npos) return std::nullopt;
    const auto words = words_of(std::string_view(status).substr(line + 5), 2);  // real, effective
    return words.size() == 2 ? whole_number<std::uint32_t>(words[1]) : std::nullopt;
}

}  // namespace

void add_bound_sockets(std::string_view table, bool tcp, BoundSockets& sockets) {
    constexpr std::string_view listening = "0A";
    // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
    constexpr std::size_t columns = 10;
    table.remove_prefix(std::min(table.find('\n'), table.size()));  // the heading
    while (!table.empty()) {
        table.remove_prefix(1);
        const auto words = words_of(table.substr(0, table.find('\n')), columns);
        table.remove_prefix(std::min(table.find('\n'), table.size()));
        if (words.size() < columns || (tcp && words[3] != listening)) continue;
        const std::size_t colon = words[1].rfind(':');
        if (colon == std::string_view::npos) continue;
        const auto port = whole_number<std::uint16_t>(words[1].substr(colon + 1), 16);
        const auto user = whole_number<std::uint32_t>(words[7]);
        const auto inode = whole_number<std::uint64_t>(words[9]);
        if (port && user && inode) sockets.emplace(*port, BoundSocket{*inode, *user});
    }
}

BoundSockets bound_sockets() {
    constexpr std::size_t table_bytes_max = 64 << 20;
    BoundSockets sockets;
    for (const char* name : {"tcp", "tcp6", "udp", "udp6"})
        add_bound_sockets(text_of_file(fmt::format("/proc/net/{}", name), table_bytes_max), name[0] == 't', sockets);
    return sockets;
}

bool has_bound(std::int32_t pid, std::uint16_t port, const BoundSockets& sockets) {
    const auto [first, last] = sockets.equal_range(port);
    if (first == last) return false;
    const std::string path = fmt::format("/proc/{}/fd", pid);
    errno = 0;
    DIR* folder = opendir(path.c_str());
    if (!folder) {
        if (errno != EACCES) return false;
        const auto user = user_of(pid);
        return user && std::any_of(first, last, [&user](const auto& each) { return each.second.user == *user; });
    }
    bool found = false;
    while (const dirent* entry = found ? nullptr : readdir(folder)) {
        std::array<char, 64> link{};
        const ssize_t size = readlinkat(dirfd(folder), entry->d_name, link.data(), link.size());
        const auto inode = size > 0 ? socket_inode({link.data(), static_cast<std::size_t>(size)}) : std::nullopt;
        found = inode && std::any_of(first, last, [&inode](const auto& each) { return each.second.inode == *inode; });
    }
    closedir(folder);
    return found;
}

}  // namespace muster
