// What Muster is told of each process: the supervisor's knowledge, and what only the agent around it knows.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/order.h"
#include "agent/process.h"
#include "base/ids.h"
#include "protocol/host_messages.h"

namespace muster {

// No I/O. One thread.
class HostReports {
public:
    // Which game server a process is at Muster; 0 when it is none any more.
    void registered(ProcessId process, ServerId server);
    // What it wrote in the life that has ended: its last lines are told, made harmless.
    void ended(ProcessId process, std::string_view output);

    ProcessReport of(const Process& process, ReportedNews news);
    // Names that were told, and are of no process any more. Each is told once.
    std::vector<std::string> take_gone(const std::vector<const Process*>& present);

private:
    std::map<ProcessId, ServerId> servers_;
    std::map<ProcessId, std::string> last_lines_;
    std::map<std::string, ProcessId> told_;
};

ReportedNews reported(ProcessNews::Kind kind);

// The last whole lines of `output` that fit, made harmless; of one line that is too long, its end.
std::string last_lines_of(std::string_view output, std::size_t bytes_max);

}  // namespace muster
