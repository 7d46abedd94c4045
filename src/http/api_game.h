// What the API asks of the rest of Muster. The daemon implements it; tests fake it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "core/host_verdict.h"
#include "core/views.h"
#include "http/role.h"
#include "protocol/error_texts.h"
#include "protocol/host_messages.h"
#include "protocol/matchmaker_messages.h"

namespace muster {

// What an operator can do.
namespace action {

struct Drain {
    ServerId server;
    bool draining = false;
    std::string reason;
};
// An address, or one server there.
struct ServerAddress {
    IpAddress ip;
    std::optional<std::uint16_t> port;  // none: whatever stands at the address
};
// Those servers, and those at the addresses.
struct DrainMany {
    std::vector<ServerId> servers;
    std::vector<ServerAddress> addresses;
    bool draining = false;
    std::string reason;
};
// By number, or by name where that is given.
struct RegionWish {
    RegionId id;
    std::string name{};
};
// All servers of a region.
struct DrainRegion {
    RegionWish region;
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
    std::string region_name{};  // instead of the request's number
};
// The accounts of a lobby.
struct Players {
    LobbyId lobby;
    std::vector<AccountId> accounts;
};
// Only the hash of the token: nobody but who asked for it ever sees the token itself.
struct AddOperator {
    std::string name;
    Role role = Role::viewer;
    std::string token_hash;
};
struct RemoveOperator {
    std::string name;
};
// The value is canonical. Ends after `length`, unless that is 0.
struct Block {
    BlockKind kind = BlockKind::ip;
    std::string value;
    Duration length{0};
    std::string reason;
};
struct Unblock {
    BlockKind kind = BlockKind::ip;
    std::string value;
};

// Something of the agent of a host (G-3).
struct AskHost {
    std::string host;
    HostCommand command;
    std::string reason{};
};
// A host that is not connected is shown no more.
struct ForgetHost {
    std::string host;
    std::string reason;
};

}  // namespace action

using Action =
    std::variant<action::Drain, action::DrainMany, action::DrainRegion, action::Remove, action::AbortAll, action::Abort,
                 action::Kick, action::SetClock, action::Allocate, action::Players, action::AskHost, action::ForgetHost,
                 action::AddOperator, action::RemoveOperator, action::Block, action::Unblock>;

// Who asks for it.
struct ActionCaller {
    std::string address;
    std::string request_id;
    Role role = Role::admin;
    std::string operator_name{};  // empty: whoever is on this machine, without a token

    // For a person, with where from.
    std::string who() const { return operator_name.empty() ? address : operator_name + " (" + address + ")"; }
};

// The outcome of an action.
struct ActionOutcome {
    // `begun`: it waits for the store, and its outcome comes later. `unstored`: done, but the store could not take it,
    // so a restart may undo it.
    enum class Kind : std::uint8_t { done, begun, unstored, not_found, refused, taken, too_many };
    Kind kind = Kind::done;
    Refusal refusal{};                         // of a refused allocation
    ClockRow clock{};                          // of a clock that was set
    RegionId region_id{};                      // of a region that was drained
    std::vector<std::int64_t> missing{};       // of many: ids that no server has
    std::int64_t count = 0;                    // of many: how many servers or matches it was done to
    AllocationResponse::Accepted allocated{};  // of an allocation that was done
    HostVerdict host{};                        // of what was asked of a host
};

// Figures of the process that are in no view of the game.
struct ProcessFigures {
    std::string version;
    double uptime_s = 0;
    std::vector<std::string> problems;  // why it hangs or is not ready; usually none
    std::vector<std::string>
        warnings;      // of lost nodes, of an old certificate, of a limit that is reached; usually none
    std::string node;  // empty: alone, with a store of its own
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
    [[nodiscard]] virtual bool ask_for_hosts(std::uint64_t number, Time not_after) = 0;
    [[nodiscard]] virtual bool act(std::uint64_t number, const Action& action, const ActionCaller& caller,
                                   Time not_after) = 0;
    virtual ProcessFigures figures() = 0;
};

}  // namespace muster
