#include "hostsim/machine.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::hostsim {

std::int32_t Machine::spawn(const MachineProcess& as) {
    const std::int32_t pid = ++last_pid_;
    MachineProcess& process = processes_[pid];
    process = as;
    process.pid = pid;
    process.start_ticks = static_cast<std::uint64_t>(pid) * 10;
    return pid;
}

void Machine::fork(std::int32_t leader) {
    const MachineProcess* parent = find(leader);
    if (!parent) return;
    MachineProcess child = *parent;
    child.leader = leader;
    child.starter = 0;
    child.bound = false;
    spawn(child);
}

void Machine::bind(std::int32_t pid) {
    const auto found = processes_.find(pid);
    if (found != processes_.end()) found->second.bound = true;
}

void Machine::end(std::int32_t pid, ExitStatus status) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return;
    const MachineProcess& process = found->second;
    if (process.leader == 0) exits_.push_back({pid, status, process.starter, process.life});
    if (process.leader == 0 && !disk_full) exits_written[process.life] = status;
    processes_.erase(found);
}

std::size_t Machine::kill_life(std::string_view life) {
    std::vector<std::int32_t> all;
    for (const auto& [pid, process] : processes_)
        if (process.life == life) all.push_back(pid);
    for (const std::int32_t pid : all) end(pid, {.signal = SIGKILL});
    return all.size();
}

const MachineProcess* Machine::find(std::int32_t pid) const {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : &found->second;
}

std::vector<SeenProcess> Machine::seen() const {
    std::vector<SeenProcess> all;
    all.reserve(processes_.size());
    for (const auto& [pid, process] : processes_) all.push_back({pid, process.start_ticks, process.life, process.name});
    return all;
}

bool Machine::port_is_free(std::uint16_t port) const {
    return std::none_of(processes_.begin(), processes_.end(),
                        [port](const auto& each) { return each.second.bound && each.second.port == port; });
}

std::vector<MachineExit> Machine::take_exits() {
    return std::exchange(exits_, {});
}

}  // namespace muster::hostsim
