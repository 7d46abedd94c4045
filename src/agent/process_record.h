// What is written down about a process, so that the next agent finds it again (G-7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/process.h"
#include "agent/run_config.h"

namespace muster {

struct ProcessRecord {
    std::string name;
    std::string run;
    std::string fingerprint;  // of the config that it was started with
    SdkKind sdk = SdkKind::none;
    std::int32_t pid = 0;               // 0: it does not run
    std::optional<UnixMs> starts_at{};  // of one that does not run
    std::uint64_t start_ticks = 0;
    std::string boot;
    std::string life;
    std::uint16_t port = 0;
    UnixMs started_at{};
    std::int32_t restarts = 0;
    PaceRecord pace{};
    std::optional<ProcessExit> last_exit{};  // of the life before
    bool was_ready = false;
    std::optional<MatchHeld> match{};
    std::string sdk_state;      // SdkSide::saved()
    std::string cgroup;         // empty: none
    std::string folder{};       // the id of the state folder; empty: of an earlier agent, which wrote none
    std::int64_t log_from = 0;  // where in its log this life begins
};

// What the supervisor knows of a process that runs, or waits for its next start; the rest is the layer's.
ProcessRecord record_of(const Process& process, Moment at);

// One line of JSON.
std::string to_json(const ProcessRecord& record);
// None when the text is not such a line: of a newer agent, half written, or somebody's joke.
std::optional<ProcessRecord> parse_process_record(std::string_view text);

// Two configs have the same one when their processes are the same. Counts are about the run, not about a process.
std::string fingerprint(const RunConfig& run);

// What MUSTER_MATCH_FILE holds for sdk = "none": {"lobby":7,"token":"…","game_type":0,"game_mode":0}.
std::string match_file_text(const SdkMatch& match);

}  // namespace muster
