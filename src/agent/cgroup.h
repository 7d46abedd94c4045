// A cgroup (v2) for each process where the agent may make one: then nothing that the process starts can escape its end,
// and its load is counted whole (G-6, G-8).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

    // Removes those that agents of this machine, whatever their folder, have left empty below the same cgroup. Returns
    // how many.
    std::size_t remove_abandoned(UnixMs now) const;

    // Where that of the process is, if it has one. Each life has its own: what ends an earlier one cannot hit the next.
    std::filesystem::path of(const std::string& process, const std::string& life) const;
    // A new, empty one for the process. None when that fails.
    std::optional<std::filesystem::path> make(const std::string& process, const std::string& life) const;

private:
    std::filesystem::path parent_;
    std::string prefix_;
    std::string why_not_;
};

// The folder of this process's own cgroup, by the texts of /proc/self/mountinfo and /proc/self/cgroup; none without
// cgroup v2.
std::optional<std::filesystem::path> own_cgroup(std::string_view mounts, std::string_view cgroups);

// Cgroups in that folder that make() of some agent made more than a minute ago and nobody is in. No life comes back to
// one: each has its own, and is in it within that time.
std::vector<std::filesystem::path> abandoned_cgroups(const std::filesystem::path& parent, UnixMs now);

// Of a folder that make() gave, perhaps to an earlier agent.
FileDescriptor open_cgroup_procs(const std::filesystem::path& cgroup);
// SIGKILL to all in it and in those that they made below it, and these are removed once they are empty: call it again
// for that. True when nobody is left in it, whether or not it could be removed.
bool end_cgroup(const std::filesystem::path& cgroup);
struct CgroupFigures {
    std::optional<Duration> cpu{};
    std::optional<std::int64_t> memory_bytes{};
};
CgroupFigures read_cgroup(const std::filesystem::path& cgroup);

}  // namespace muster
