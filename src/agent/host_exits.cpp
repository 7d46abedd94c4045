// The host's other half: its keeper, and how it is known that a process has ended, and how.
#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "agent/host.h"
#include "agent/pidfd_exit.h"

namespace muster {
namespace {

// A keeper without processes ends at once.
constexpr std::chrono::milliseconds keeper_end{1000};
// Of the keeper's socket among those of processes, which are named by their numbers, from 1.
constexpr std::uint32_t keeper_event = 0;
// A new agent waits this long in all for what keepers are about to write.
constexpr std::chrono::milliseconds note_patience{300};
constexpr std::chrono::milliseconds note_look{10};

}  // namespace

Host::~Host() {
    const bool none_runs =
        std::none_of(entries_.begin(), entries_.end(), [](const auto& each) { return each.second.pid != 0; });
    if (keeper_ && none_runs) keeper_->close(keeper_end);
}

Result<Launched, std::string> Host::launch_kept(const LaunchPlan& plan, const Entry& entry) {
    if (!keeper_ || keeper_->lost()) start_keeper();
    if (!keeper_) return launch(plan);
    return keeper_->launch({plan, entry.life, folder_.exit_file(entry.name).string()}, folder_.lock_file());
}

void Host::start_keeper() {
    if (keeper_) log_.warning("The keeper of processes (pid {}) was lost; another one is started", keeper_->pid());
    keeper_.reset();
    auto started = KeeperLink::start(options_.name, folder_.path());
    if (started) {
        keeper_ = std::move(*started);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = keeper_event;
        epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, keeper_->file(), &event);
        return;
    }
    if (!std::exchange(keeperless_, true))
        log_.warning("Without a keeper of processes: {}. How a process ends while no agent watches is not known",
                     started.error());
}

std::vector<HostExit> Host::collect(Time now) {
    std::vector<HostExit> exits;
    std::array<epoll_event, 64> events{};
    const int count = epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        const std::uint32_t number = events[static_cast<std::size_t>(i)].data.u32;
        if (number != keeper_event) unknown_since_.try_emplace(ProcessId(static_cast<std::int32_t>(number)), now);
    }
    hear_keeper(exits);
    collect_children(exits);
    look_for_exits(now, exits);
    if (!exits.empty()) end_leftovers();  // before anything is started in their place
    return exits;
}

void Host::hear_keeper(std::vector<HostExit>& exits) {
    if (!keeper_) return;
    for (const ExitNote& note : keeper_->take_ends())
        for (auto& [process, entry] : entries_)
            if (entry.pid != 0 && entry.life == note.life) ended(process, entry, note.status, exits);
}

// Children are the keeper, and, when it was lost, its processes and what they left behind.
void Host::collect_children(std::vector<HostExit>& exits) {
    for (;;) {
        siginfo_t info{};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
        const auto found = std::find_if(entries_.begin(), entries_.end(),
                                        [&info](const auto& each) { return each.second.pid == info.si_pid; });
        // Before it is collected, its number, and that of its group, cannot be anybody else's.
        if (found != entries_.end()) {
            kill(-info.si_pid, SIGKILL);
            ended(found->first, found->second, status_of(info), exits);
        }
        if (waitpid(info.si_pid, nullptr, 0) != info.si_pid) return;
    }
}

// Of those that have ended and whose parent is no one that speaks to us: an earlier agent's keeper, or nobody.
void Host::look_for_exits(Time now, std::vector<HostExit>& exits) {
    for (const auto& [process, since] : std::map(unknown_since_)) {
        const auto found = entries_.find(process);
        if (found == entries_.end() || found->second.pid == 0) {
            unknown_since_.erase(process);
            continue;
        }
        Entry& entry = found->second;
        std::optional<ExitStatus> status = folder_.exit_of(entry.name, entry.life);
        if (!status) status = exit_by_pidfd(entry.pidfd.number());
        if (status || now - since >= exit_patience) ended(process, entry, status.value_or(ExitStatus{}), exits);
    }
}

void Host::ended(ProcessId process, Entry& entry, ExitStatus status, std::vector<HostExit>& exits) {
    exits.push_back({process, status});
    unknown_since_.erase(process);
    ended_lives_.push_back({entry.life, entry.cgroup, looks});
    entry.pid = 0;
    entry.pidfd.reset();
    entry.cpu.reset();
}

ExitStatus Host::exit_of(const ProcessRecord& record) const {
    // It may have ended a moment ago, and its keeper be about to write that.
    const auto until = census_at_ + note_patience;
    for (;;) {
        if (const auto status = folder_.exit_of(record.name, record.life)) return *status;
        if (std::chrono::steady_clock::now() >= until) return {};
        std::this_thread::sleep_for(note_look);
    }
}

}  // namespace muster
