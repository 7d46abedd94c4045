// What the kernel tells of processes, ports and the machine, read from /proc.
#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
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

// The environment that a process was started with, as it was when this was made; empty when it may not be read.
class ProcEnvironment {
public:
    explicit ProcEnvironment(std::int32_t pid);
    bool has(std::string_view name, std::string_view value) const;
    // Empty when there is none of that name.
    std::string value(std::string_view name) const;

private:
    std::string text_;  // each entry between two zeros
};

// Whether a path means the same file to that process as to us.
bool shares_mounts(std::int32_t pid);

// Every process there is.
std::vector<std::int32_t> all_processes();

// Changes with every boot.
std::string boot_id();

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

// The words of a text, as many as there are up to `most`.
std::vector<std::string_view> words_of(std::string_view text, std::size_t most);
// None when the text is anything else.
template <class Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// The whole of a small file; empty when it cannot be read.
std::string text_of_file(const std::filesystem::path& path, std::size_t bytes_max = 1 << 20);

}  // namespace muster
