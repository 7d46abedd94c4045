// A cgroup (v2) for each process where the agent may make one: then nothing that the process starts can escape its end,
// and its load is counted whole (G-6, G-8).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/file_descriptor.h"

namespace muster {

class Cgroups {
public:
    // Tries to make one below the agent's own. why_not() says in a sentence why there will be none. `owner` names the
    // agent's state folder: other agents of this machine, perhaps of the same host name, have theirs.
    Cgroups(const std::string& host, const std::string& owner);

    bool usable() const { return why_not_.empty(); }
    const std::string& why_not() const { return why_not_; }

    // A new, empty one for the process. None when that fails.
    std::optional<std::filesystem::path> make(const std::string& process) const;

private:
    std::filesystem::path parent_;
    std::string prefix_;
    std::string why_not_;
};

// The folder of this process's own cgroup, by the texts of /proc/self/mountinfo and /proc/self/cgroup; none without
// cgroup v2.
std::optional<std::filesystem::path> own_cgroup(std::string_view mounts, std::string_view cgroups);

// Of a folder that make() gave, perhaps to an earlier agent.
FileDescriptor open_cgroup_procs(const std::filesystem::path& cgroup);
// SIGKILL to all in it, and it is removed once they are gone: call it again for that. True when it is gone.
bool end_cgroup(const std::filesystem::path& cgroup);
struct CgroupFigures {
    std::optional<Duration> cpu{};
    std::optional<std::int64_t> memory_bytes{};
};
CgroupFigures read_cgroup(const std::filesystem::path& cgroup);

}  // namespace muster
