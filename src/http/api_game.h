// What the API asks of the rest of Muster. The daemon implements it; tests fake it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/views.h"
#include "protocol/error_texts.h"
#include "protocol/matchmaker_messages.h"

namespace muster {

// What an operator can do.
namespace action {

struct Drain {
    ServerId server;
    bool draining = false;
    std::string reason;
};
// All servers of a region.
struct DrainRegion {
    RegionId region;
    bool draining = false;
    std::string reason;
};
struct Remove {
    ServerId server;
    std::string reason;
};
// All matches of a server, those that are offered to it too.
struct AbortAll {
    ServerId server;
    std::string reason;
};
struct Abort {
    LobbyId lobby;
    std::string reason;
};
struct Kick {
    AccountId player;
    std::string reason;
};
// Another time, another speed, or both.
struct SetClock {
    bool time = false;
    ClockRow to;
    std::optional<std::int32_t> speed;
};
struct Allocate {
    AllocationRequest request;
};

}  // namespace action

using Action = std::variant<action::Drain, action::DrainRegion, action::Remove, action::AbortAll, action::Abort,
                            action::Kick, action::SetClock, action::Allocate>;

// Who asks for it.
struct ActionCaller {
    std::string address;
    std::string request_id;
};

// The outcome of an action.
struct ActionOutcome {
    enum class Kind : std::uint8_t { done, not_found, refused };
    Kind kind = Kind::done;
    Refusal refusal{};                         // of a refused allocation
    ClockRow clock{};                          // of a clock that was set
    std::int64_t count = 0;                    // of many: how many servers or matches it was done to
    AllocationResponse::Accepted allocated{};  // of an allocation that was done
};

// Figures of the process that are in no view of the game.
struct ProcessFigures {
    std::string version;
    double uptime_s = 0;
    std::vector<std::string> problems;  // why it hangs or is not ready; usually none
    double ticks_per_second = 0;
    double tick_avg_ms = 0;
    double tick_max_ms = 0;
    double messages_per_second = 0;
    std::uint64_t overruns = 0;
    std::uint64_t callback_errors = 0;
    std::uint64_t store_queue_depth = 0;
};

// HTTP thread only. Each question has a number and is answered once, later, on the HTTP thread, by Api::made() or
// acted() with that number. It is not answered when it is refused here because too many wait, nor done at all when the
// loop comes to it only after `not_after`.
class ApiGame {
public:
    virtual ~ApiGame() = default;

    [[nodiscard]] virtual bool ask_for_fleet(std::uint64_t number, Time not_after) = 0;
    [[nodiscard]] virtual bool ask_for_players(std::uint64_t number, Time not_after) = 0;
    [[nodiscard]] virtual bool act(std::uint64_t number, const Action& action, const ActionCaller& caller,
                                   Time not_after) = 0;
    virtual ProcessFigures figures() = 0;
};

}  // namespace muster
