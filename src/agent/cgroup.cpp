#include "agent/cgroup.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/proc.h"

namespace muster {
namespace {

constexpr std::size_t mounts_bytes_max = 1024 * 1024;
constexpr std::int64_t abandoned_after_s = 60;

std::optional<std::int64_t> number_after(const std::string& text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string::npos) return std::nullopt;
    std::int64_t value = 0;
    const char* from = text.data() + at + name.size();
    const auto [end, error] = std::from_chars(from, text.data() + text.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

// "muster-HOST-ID-PROCESS-LIFE", where ID is that of a state folder.
bool is_of_an_agent(std::string_view name) {
    constexpr std::string_view prefix = "muster-";
    constexpr std::string_view id = "-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx-";
    if (!name.starts_with(prefix)) return false;
    const auto fits = [](char form, char c) {
        return form == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    };
    for (std::size_t at = prefix.size() + 1; at + id.size() < name.size(); ++at)
        if (std::equal(id.begin(), id.end(), name.begin() + static_cast<std::ptrdiff_t>(at), fits)) return true;
    return false;
}

std::optional<bool> is_populated(const std::filesystem::path& cgroup) {
    const auto populated = number_after(text_of_file(cgroup / "cgroup.events"), "populated ");
    return populated ? std::optional(*populated != 0) : std::nullopt;
}

// The innermost first; one that is in use stays.
void remove_tree(const std::filesystem::path& cgroup) {
    std::error_code error;
    std::vector<std::filesystem::path> below;
    for (const auto& entry : std::filesystem::directory_iterator(cgroup, error))
        if (entry.is_directory(error) && !entry.is_symlink(error)) below.push_back(entry.path());
    for (const auto& each : below) remove_tree(each);
    rmdir(cgroup.c_str());
}

}  // namespace

std::optional<std::filesystem::path> own_cgroup(std::string_view mounts, std::string_view cgroups) {
    constexpr std::string_view unified = "0::/";
    const std::size_t at = cgroups.starts_with(unified) ? 0 : cgroups.find("\n0::/");
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view own = cgroups.substr(cgroups.find(unified, at) + 3);
    own = own.substr(0, own.find('\n'));
    while (!mounts.empty()) {
        const std::string_view line = mounts.substr(0, mounts.find('\n'));
        mounts.remove_prefix(std::min(mounts.size(), line.size() + 1));
        if (line.find(" - cgroup2 ") == std::string_view::npos) continue;
        // Its number, its parent's, the device, which part of the hierarchy, and where.
        std::istringstream words{std::string(line)};
        std::string word;
        std::string part;
        std::string where;
        words >> word >> word >> word >> part >> where;
        std::string_view below = own;
        if (part != "/" && below.starts_with(part)) below.remove_prefix(part.size());
        while (below.starts_with('/')) below.remove_prefix(1);
        return below.empty() ? std::filesystem::path(where) : std::filesystem::path(where) / below;
    }
    return std::nullopt;
}

Cgroups::Cgroups(const std::string& host, const std::string& owner) : prefix_("muster-" + host + "-" + owner) {
    const auto own =
        own_cgroup(text_of_file("/proc/self/mountinfo", mounts_bytes_max), text_of_file("/proc/self/cgroup"));
    if (!own) {
        why_not_ = "this machine has no cgroup v2";
        return;
    }
    parent_ = *own;
    const auto probe = make("probe", std::to_string(getpid()));
    if (!probe) {
        why_not_ = fmt::format("no cgroup can be made in {}: {}", parent_.string(), std::strerror(errno));
        return;
    }
    if (access((*probe / "cgroup.kill").c_str(), W_OK) != 0)
        why_not_ = "this kernel cannot end a whole cgroup (cgroup.kill, Linux 5.14)";
    rmdir(probe->c_str());
}

std::filesystem::path Cgroups::of(const std::string& process, const std::string& life) const {
    return parent_ / fmt::format("{}-{}-{}", prefix_, process, life);
}

std::optional<std::filesystem::path> Cgroups::make(const std::string& process, const std::string& life) const {
    std::filesystem::path folder = of(process, life);
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return std::nullopt;
    return folder;
}

std::size_t Cgroups::remove_abandoned(UnixMs now) const {
    const auto abandoned = abandoned_cgroups(parent_, now);
    for (const auto& each : abandoned) remove_tree(each);
    return abandoned.size();
}

std::vector<std::filesystem::path> abandoned_cgroups(const std::filesystem::path& parent, UnixMs now) {
    std::vector<std::filesystem::path> abandoned;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
        struct stat about{};
        const bool is_old = lstat(entry.path().c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
                            about.st_mtim.tv_sec + abandoned_after_s < now.value / 1000;
        if (is_old && is_of_an_agent(entry.path().filename().string()) && is_populated(entry.path()) == false)
            abandoned.push_back(entry.path());
    }
    return abandoned;
}

FileDescriptor open_cgroup_procs(const std::filesystem::path& cgroup) {
    return FileDescriptor(open((cgroup / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
}

bool end_cgroup(const std::filesystem::path& cgroup) {
    const FileDescriptor kill(open((cgroup / "cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
    if (kill && write(kill.number(), "1", 1) < 0) return false;
    const bool is_empty = !is_populated(cgroup).value_or(false);
    if (is_empty) remove_tree(cgroup);
    return is_empty;
}

CgroupFigures read_cgroup(const std::filesystem::path& cgroup) {
    CgroupFigures figures;
    if (const auto used = number_after(text_of_file(cgroup / "cpu.stat"), "usage_usec "))
        figures.cpu = std::chrono::microseconds(*used);
    figures.memory_bytes = number_after("=" + text_of_file(cgroup / "memory.current"), "=");
    return figures;
}

}  // namespace muster
