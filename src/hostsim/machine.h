// A model of one machine's operating system: its processes, their ports, and the disk with the agent's state folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/adoption.h"
#include "agent/process.h"

namespace muster::hostsim {

struct MachineProcess {
    std::int32_t pid = 0;
    std::uint64_t start_ticks = 0;
    std::string life{};
    std::string name{};
    std::string run{};
    std::uint16_t port = 0;
    std::int32_t leader = 0;   // of a child: the process that forked it; 0: an agent started it
    std::int32_t starter = 0;  // the agent's incarnation, whose child it is
    bool bound = false;        // its port
};

struct MachineExit {
    std::int32_t pid = 0;
    ExitStatus status{};
    std::int32_t starter = 0;
    std::string life{};
};

// Nothing in it has a will of its own: the games decide when they end (game.h).
class Machine {
public:
    explicit Machine(std::string name) : name_(std::move(name)) {}

    const std::string& name() const { return name_; }
    const std::string& boot() const { return boot_; }

    // A new process that an agent starts; its pid.
    std::int32_t spawn(const MachineProcess& as);
    // A child of a process, which carries its life and nobody waits for.
    void fork(std::int32_t leader);
    void bind(std::int32_t pid);
    // It ends. Its children stay.
    void end(std::int32_t pid, ExitStatus status);
    // SIGKILL to everything of that life. How many there were.
    std::size_t kill_life(std::string_view life);

    const MachineProcess* find(std::int32_t pid) const;
    const std::map<std::int32_t, MachineProcess>& processes() const { return processes_; }
    // The processes that carry the folder's id, as a new agent sees them.
    std::vector<SeenProcess> seen() const;
    bool port_is_free(std::uint16_t port) const;
    // Exits that nobody has collected.
    std::vector<MachineExit> take_exits();

    // The state folder.
    bool disk_full = false;
    std::map<std::string, std::string> records;  // by process, as they stand on disk
    std::map<std::string, std::int32_t> counts;
    std::map<std::string, ExitStatus> exits_written;  // by life, as the keeper of its process wrote them

private:
    std::string name_;
    std::string boot_ = "boot";
    std::map<std::int32_t, MachineProcess> processes_;
    std::vector<MachineExit> exits_;
    std::int32_t last_pid_ = 100;
};

}  // namespace muster::hostsim
