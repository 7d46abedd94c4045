// What a new agent makes of what an earlier one left: which processes go on, which have ended meanwhile, and which
// have no owner any more (G-7). No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process.h"
#include "agent/process_record.h"
#include "agent/run_config.h"
#include "agent/supervisor.h"

namespace muster {

// A process of this machine that carries the id of the agent's folder in its environment.
struct SeenProcess {
    std::int32_t pid = 0;
    std::uint64_t start_ticks = 0;
    std::string life{};
    std::string name{};
    std::uint16_t port = 0;  // that it was given; 0: not known
};

struct Census {
    std::vector<ProcessRecord> survivors;  // the record fits a process to the last detail
    std::vector<ProcessRecord> resting;    // had ended, and waited for their next start
    std::vector<ProcessRecord> ended;      // while no agent watched
    std::vector<ProcessRecord> rebooted;   // ended with the machine
    // Lives that nobody owns, one process of each: the agent before died between a start and its record, or the record
    // was damaged. They are to be ended.
    std::vector<SeenProcess> unowned;
};

// `boot` names the machine's present boot.
Census take_census(std::vector<ProcessRecord> records, const std::vector<SeenProcess>& running, std::string_view boot);

// What its record would say, as far as its environment tells. None when that does not name a process and its port.
std::optional<ProcessRecord> record_of_unowned(const SeenProcess& seen, const std::vector<RunConfig>& runs);

// The process of the record as the supervisor takes it over. Of settings that are not those of the config any more only
// the fingerprint is known: it is replaced once it is free, unless the config has them again by then.
Adopted adopted_from(const ProcessRecord& record, const std::vector<RunConfig>& runs, Moment at);

}  // namespace muster
