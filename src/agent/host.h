// The thin layer: starts, signals and ends the processes of this machine, keeps their files, reads their load. It
// decides nothing (that is the supervisor's part).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/adoption.h"
#include "agent/cgroup.h"
#include "agent/keeper_link.h"
#include "agent/launch.h"
#include "agent/order.h"
#include "agent/proc.h"
#include "agent/process_log.h"
#include "agent/process_record.h"
#include "agent/state_folder.h"
#include "agent/supervisor.h"
#include "base/log.h"
#include "net/file_descriptor.h"

namespace muster {

struct HostOptions {
    std::string name;
    RegionId region{};
    std::vector<std::string> join;
    std::string server_token;  // for processes that register themselves
    std::string search_path;   // PATH
};

struct HostExit {
    ProcessId process{};
    ExitStatus status{};
};

struct ProcessLoad {
    double cpu_percent = 0;  // of what the run may use; not above 100
    double memory_percent = 0;
};

// The agent's thread only.
class Host {
public:
    static constexpr std::size_t last_output_max = 64 * 1024;

    // How a process ended is known at once from whoever is its parent; this long it is waited for.
    static constexpr Duration exit_patience = std::chrono::seconds(3);

    // What the agent orphans, or its processes do, is its own to collect. The folder and the log outlive it.
    Host(HostOptions options, StateFolder& folder, Log& log);
    // Processes run on. When there are none, the keeper has ended as well.
    ~Host();

    // Readable when a process has ended.
    int events_fd() const { return epoll_.number(); }

    enum class Start : std::uint8_t { started, port_taken, failed };
    struct Started {
        Start how = Start::failed;
        std::int32_t pid = 0;
        std::string why{};
    };
    Started start(const StartProcess& order, const Process& process, const std::vector<EnvironmentEntry>& sdk);

    // To the process itself.
    void signal(ProcessId process, int number);
    // SIGKILL to it, to its group and its cgroup. Whatever else it started is among the leftovers.
    void kill_all(ProcessId process);
    // Of these, who holds a socket of its port, itself or by what it started.
    struct Awaited {
        ProcessId process{};
        std::uint16_t port = 0;
    };
    std::vector<ProcessId> bound(const std::vector<Awaited>& awaited, Time now);
    // Who has ended since the last call. What they left behind is ended too.
    std::vector<HostExit> collect(Time now);
    // Some have ended, and how is not known yet: collect() is to be called every 20 ms or so.
    bool exits_pending() const { return !unknown_since_.empty(); }
    // Looks again for what was left behind, until nothing is. To be called every 100 ms or so.
    void end_leftovers();
    bool leftovers() const { return !ended_lives_.empty(); }

    // What earlier agents of this folder left. What runs without a record has no owner: its end has begun, as has that
    // of whatever ended processes left behind.
    Census find_survivors();
    // How one of the census has ended. Neither code nor signal when nobody knows.
    ExitStatus exit_of(const ProcessRecord& record) const;
    // Watches it from now on. False when it is gone meanwhile.
    bool adopt(ProcessId process, const ProcessRecord& record, const RunConfig& run);
    // One that has ended already: its log is known from now on.
    void remember(ProcessId process, const ProcessRecord& record, const RunConfig& run);
    // Ends a survivor that nobody adopts, and forgets a process that nobody wants any more.
    void end_survivor(const ProcessRecord& record);

    // Of a process that runs or waits for its next start; any other has none. False when the disk refuses.
    bool write_record(const Process& process, Moment at, std::string_view sdk_state);
    void remove_record(const Process& process);
    // Writes MUSTER_MATCH_FILE and sends SIGUSR1 (sdk = "none").
    bool tell_match(ProcessId process, const SdkMatch& match);

    // True when some log had to be cut.
    bool rotate_logs();
    std::string last_output(ProcessId process) const;
    // As much of a process's output as fits: from the end of an earlier piece on, or, with -1, its end, over older
    // files as far as needed.
    ProcessLog::Piece read_log(std::string_view process, std::int64_t from, std::size_t bytes_max) const;
    // Since the last call for this process; `share` is how many processes share the host.
    ProcessLoad read_load(ProcessId process, Time now, std::int32_t share);

    const Cgroups& cgroups() const { return cgroups_; }

private:
    struct Entry {
        std::string name{};
        std::string run{};
        std::string life{};
        RunConfig config{};
        std::int32_t pid = 0;  // 0: it does not run
        std::uint64_t start_ticks = 0;
        FileDescriptor pidfd{};
        std::filesystem::path cgroup{};
        std::int64_t log_from = 0;
        std::optional<Duration> cpu{};  // at the last reading
        Time cpu_read_at{};
    };
    struct EndedLife {
        std::string life{};
        std::filesystem::path cgroup{};
        int looks_left = 0;
    };

    // How often what an ended process left behind is looked for: what forks while it is being killed is found the next
    // time.
    static constexpr int looks = 5;

    static bool still_runs(const Entry& entry);
    std::vector<EnvironmentEntry> environment_of(const StartProcess& order, const Process& process,
                                                 const std::vector<EnvironmentEntry>& sdk) const;
    ProcessLog log_of(const Entry& entry) const;
    // By the keeper; without one, as a child of the agent.
    Result<Launched, std::string> launch_kept(const LaunchPlan& plan, const Entry& entry);
    void start_keeper();
    // From those who can know how a process ended: its keeper, the agent as its parent, the kernel.
    void hear_keeper(std::vector<HostExit>& exits);
    void collect_children(std::vector<HostExit>& exits);
    void look_for_exits(Time now, std::vector<HostExit>& exits);
    void ended(ProcessId process, Entry& entry, ExitStatus status, std::vector<HostExit>& exits);
    void watch(Entry& entry, ProcessId process);
    void drop_foreign(std::vector<ProcessRecord>& records, const std::vector<SeenProcess>& running) const;
    // SIGKILL to every process of these lives that can be found. Returns the lives that had any.
    std::set<std::string> kill_lives(const std::set<std::string>& lives) const;
    // Of the processes that run, but for those of these lives.
    std::set<std::int32_t> pids_but_of(const std::set<std::string>& lives) const;

    const HostOptions options_;
    StateFolder& folder_;
    Log& log_;
    const Cgroups cgroups_;
    const std::string boot_ = boot_id();
    FileDescriptor epoll_;
    std::optional<KeeperLink> keeper_;
    bool keeperless_ = false;  // told
    std::map<ProcessId, Entry> entries_;
    std::map<ProcessId, Time> unknown_since_;  // who has ended, and how is not known yet
    std::chrono::steady_clock::time_point census_at_{};
    std::vector<EndedLife> ended_lives_;
    Time next_member_look_{};
};

}  // namespace muster
