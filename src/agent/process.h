// A process of this host as the supervisor knows it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/moment.h"
#include "agent/restart_pace.h"
#include "agent/run_config.h"
#include "agent/sdk_side.h"
#include "base/ids.h"
#include "base/time.h"
#include "protocol/process_state.h"

namespace muster {

// A place for a process in its run, over all its lives.
using ProcessId = Id<struct ProcessTag, std::int32_t>;

// How a process ended. The system tells that to its parent only, so neither code nor signal may be known.
struct ExitStatus {
    std::optional<int> code{};
    std::optional<int> signal{};
    bool machine_went_down = false;
    bool operator==(const ExitStatus&) const = default;

    bool clean() const { return !machine_went_down && code == 0; }
    // That it is not clean does not say so: it may be unknown.
    bool crashed() const { return signal || machine_went_down || code.value_or(0) != 0; }
};

struct ProcessExit {
    ExitStatus status{};
    UnixMs at{};
    std::optional<Duration> ran{};  // none: nobody knows, or it never ran
    std::string reason{};           // for people: "exit code 3", "signal 9 (SIGKILL)", "not ready within 5m"
    bool failed = true;             // nobody wished for it, and it is not the end of a match
};

// Why an end was ordered; the gentlest first. A later one of higher rank replaces an earlier one.
enum class EndWish : std::uint8_t {
    none,
    replace,  // its config changed: once it is free, it is started anew
    restart,  // the same, for an operator
    leave,    // it is not wanted any more
};

struct MatchHeld {
    enum class Stage : std::uint8_t { offered, accepted, ready, started };
    SdkMatch match{};
    Stage stage = Stage::offered;
    Time ready_at{};
};

struct Process {
    ProcessId id{};
    std::string name{};                          // "arena-1"
    std::int32_t number = 0;                     // in its run, from 1
    std::shared_ptr<const RunConfig> run{};      // that its present life was started with, as far as it is known
    std::string fingerprint{};                   // of what its present life was really started with
    ProcessState state = ProcessState::backoff;  // due at once
    std::uint16_t port = 0;                      // 0: none
    std::optional<std::int32_t> pid{};
    std::string life{};  // of the present or last life
    UnixMs started_at{};
    std::int32_t restarts = 0;
    std::optional<ProcessExit> last_exit{};
    std::optional<MatchHeld> match{};

    // For the supervisor alone.
    Time started{};
    Time start_at{};              // of backoff and crash_loop
    std::optional<Time> kill_at;  // of one that is being ended: when patience is over
    bool registered = false;      // at Muster, in this life
    bool offers_off = false;      // reserved, allocated by itself, or not ready again after a match
    bool allocated_itself = false;
    bool out_of_reach = false;     // it may not hear of a match
    bool to_be_replaced = false;   // once it is free, since it stays so
    bool drained = false;          // as Muster was told
    bool was_ready = false;        // in this life
    bool had_match = false;        // in this life
    std::int32_t own_matches = 0;  // of a process that registered itself, as is the next
    ServerId own_server{};
    bool asked = false;            // Muster, how many matches it has, before it is ended
    std::optional<Time> ask_by{};  // the answer is waited for until then
    std::size_t ports_tried = 0;   // for this start
    bool end_is_wished = false;    // the end of this life is no failure
    EndWish wish = EndWish::none;
    std::optional<Time> wish_by{};  // a match holds it up until then
    std::string replace_reason{};   // of one that is to be replaced, for people
    std::string end_reason{};       // why the agent ends it, for people
    RestartPace pace{};

    bool lives() const { return pid.has_value() || state == ProcessState::starting; }
    // It has ended, and waits for its next start.
    bool rests() const {
        return !pid && last_exit && (state == ProcessState::backoff || state == ProcessState::crash_loop);
    }
    bool being_ended() const { return kill_at.has_value(); }
};

}  // namespace muster
