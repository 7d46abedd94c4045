#include "agent/cgroup.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/proc.h"

namespace muster {
namespace {

const std::filesystem::path root = "/sys/fs/cgroup";

std::optional<std::int64_t> number_after(const std::string& text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string::npos) return std::nullopt;
    std::int64_t value = 0;
    const char* from = text.data() + at + name.size();
    const auto [end, error] = std::from_chars(from, text.data() + text.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

Cgroups::Cgroups(const std::string& host) : prefix_("muster-" + host) {
    const std::string own = read_small_file("/proc/self/cgroup");
    const std::size_t at = own.find("0::/");
    if (at == std::string::npos || !std::filesystem::exists(root / "cgroup.controllers")) {
        why_not_ = "this machine has no cgroup v2 at /sys/fs/cgroup";
        return;
    }
    const std::size_t begin = at + 4;
    parent_ = root / own.substr(begin, own.find('\n', begin) - begin);
    const auto probe = make("probe");
    if (!probe) {
        why_not_ = fmt::format("no cgroup can be made in {}: {}", parent_.string(), std::strerror(errno));
        return;
    }
    if (access((*probe / "cgroup.kill").c_str(), W_OK) != 0)
        why_not_ = "this kernel cannot end a whole cgroup (cgroup.kill, Linux 5.14)";
    rmdir(probe->c_str());
}

std::optional<std::filesystem::path> Cgroups::make(const std::string& process) const {
    const std::filesystem::path folder = parent_ / fmt::format("{}-{}", prefix_, process);
    end_cgroup(folder);  // of an earlier life
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return std::nullopt;
    return folder;
}

FileDescriptor open_cgroup_procs(const std::filesystem::path& cgroup) {
    return FileDescriptor(open((cgroup / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
}

bool end_cgroup(const std::filesystem::path& cgroup) {
    const FileDescriptor kill(open((cgroup / "cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
    if (kill && write(kill.number(), "1", 1) < 0) return false;
    return rmdir(cgroup.c_str()) == 0 || errno == ENOENT;
}

CgroupFigures read_cgroup(const std::filesystem::path& cgroup) {
    CgroupFigures figures;
    if (const auto used = number_after(read_small_file(cgroup / "cpu.stat"), "usage_usec "))
        figures.cpu = std::chrono::microseconds(*used);
    figures.memory_bytes = number_after("=" + read_small_file(cgroup / "memory.current"), "=");
    return figures;
}

}  // namespace muster
