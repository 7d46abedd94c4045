// What the kernel tells of processes, ports and the machine, read from /proc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster {

// Of one process. None when there is no such process, or it is only waiting to be collected.
struct ProcStat {
    std::int32_t parent = 0;
    std::int32_t group = 0;
    std::uint64_t start_ticks = 0;  // since boot; with the pid it names one process of this boot
    Duration cpu{};                 // used so far, its collected children included
    std::int64_t memory_bytes = 0;  // resident
    char state = ' ';               // 'Z' is a zombie
};
std::optional<ProcStat> read_stat(std::int32_t pid);
// The text of /proc/PID/stat; none when it is none.
std::optional<ProcStat> parse_stat(std::string_view text);

// Whether the environment that the process was started with has that entry. False when it may not be read.
bool environment_has(std::int32_t pid, std::string_view name, std::string_view value);
// The same entry's value; empty when there is none.
std::string environment_value(std::int32_t pid, std::string_view name);

// Whether a path means the same file to that process as to us.
bool shares_mounts(std::int32_t pid);

// Every process there is.
std::vector<std::int32_t> all_processes();

// Changes with every boot.
std::string boot_id();

// The local ports that are listened on (TCP) or bound (UDP), over IPv4 and IPv6.
std::set<std::uint16_t> bound_ports();
// Adds the ports of a table such as /proc/net/tcp; for TCP only those that listen.
void add_bound_ports(std::string_view table, bool tcp, std::set<std::uint16_t>& ports);

// True when nobody has it, for TCP and UDP, on any address.
bool port_is_free(std::uint16_t port);

struct HostFigures {
    double cpu_percent = 0;     // since the last reading
    double memory_percent = 0;  // in use
};
class HostMeter {
public:
    HostFigures read();

private:
    std::uint64_t busy_ = 0;
    std::uint64_t total_ = 0;
};
double host_cores();
std::int64_t host_memory_bytes();

// The whole of a small file; empty when it cannot be read.
std::string text_of_file(const std::filesystem::path& path, std::size_t bytes_max = 1 << 20);

}  // namespace muster
