// Which world is played: how many of everybody, how they behave, and what goes wrong how often.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"
#include "sim/rules.h"

namespace muster::sim {

enum class Scenario : std::uint8_t {
    calm,          // healthy servers, a fast disk, no faults
    lossy,         // links are slow, cut, half open; servers and matchmakers come and go
    slow_disk,     // syncs of up to 40 s
    full_disk,     // no room for a while, again and again
    crashing,      // Muster is killed and restarted
    gaps,          // Muster is stopped for a while (SIGSTOP), the date is changed
    mixed,         // all of these
    mass_silence,  // much of a region falls silent at once (fault 29)
    last_slot,     // a thousand requests for one slot (fault 60)
    reconnect,     // ten thousand servers lose their links at once (fault 28)
    players,       // players who do all that players do, most of it wrong
    churn,         // connections come and go all the time, in slots that were another's a moment ago (fault 32)
    backlog,       // matchmakers that have much to be told when they come back (fault 71)
    starved,       // Muster takes long for each message (fault 12)
    dates,         // the date is days ahead for a while, and Muster is restarted meanwhile (fault 18)
};
inline constexpr std::array scenarios{
    Scenario::calm,    Scenario::lossy, Scenario::slow_disk,    Scenario::full_disk, Scenario::crashing,
    Scenario::gaps,    Scenario::mixed, Scenario::mass_silence, Scenario::last_slot, Scenario::reconnect,
    Scenario::players, Scenario::churn, Scenario::backlog,      Scenario::starved,   Scenario::dates,
};

// The regions that Muster is configured with. A world of one region plays in the first.
inline constexpr std::array region_ids{RegionId(2), RegionId(0), RegionId(9)};

// As the command line and the environment spell it, such as slow_disk.
std::string_view to_string(Scenario scenario);
std::optional<Scenario> scenario_named(std::string_view name);

struct NetworkConditions {
    Duration latency_min = std::chrono::milliseconds(1);
    Duration latency_max = std::chrono::milliseconds(40);
    double pieces = 0;  // share of frames that arrive in pieces
    double stall = 0;   // share of frames that are held up on their way
    Duration stall_max = std::chrono::seconds(8);
    std::size_t kernel_bytes = 16 * 1024;  // of what Muster sends, so much lies in the kernel until its peer reads it
};

// Muster's own side of the network: its threads, and what they give to the loop.
struct GatewayConditions {
    int workers = 2;
    double late = 0;            // share of passes for which a worker comes too late with what it read
    bool slots_shared = false;  // a slot is used again by any port: worse than net is
    // From a byte's arrival to the pass that takes it: what comes meanwhile is taken with it.
    Duration wake_up = std::chrono::microseconds(50);
    std::size_t inbox_items = 65'536;  // of each port
    std::size_t unsent_max = 256 * 1024;
    Duration message_cost{0};  // how long the loop takes for each
};

struct DiskConditions {
    Duration sync_min = std::chrono::milliseconds(1);
    Duration sync_max = std::chrono::milliseconds(6);
    double slow = 0;  // share of syncs that take up to `slow_max`
    Duration slow_max = std::chrono::seconds(10);
    double fault = 0;  // share of commits that fail although there is room
    std::size_t queue_max = 64;
};

// Shares of what a game server does, each on its own.
struct ServerHabits {
    Duration ack_max = std::chrono::seconds(4);
    double refuse = 0;      // says no to an offer
    double never = 0;       // does not answer it
    double late = 0;        // answers after its five seconds
    double twice = 0;       // answers it again
    double stray_ack = 0;   // with an answer for a lobby that was not offered
    double bad_load = 0;    // reports NaN, infinity or negative figures
    double lie = 0;         // reports a count that is not so
    double repeat = 0;      // says READY, STARTED or ENDED again, or in another order
    double odd_token = 0;   // validates what must be refused
    double garbage = 0;     // sends what is no message, with a heartbeat
    double seeds_only = 0;  // share of servers that only heartbeat and acknowledge
    double drain = 0;       // drains or undrains itself, with a heartbeat
    Duration play_min = std::chrono::seconds(4);
    Duration play_max = std::chrono::seconds(40);
};

struct MatchmakerHabits {
    double asks_per_minute = 12;  // of each matchmaker
    double repeat = 0;            // asks again, before or after the answer
    double cancel = 0;
    double list = 0.3;          // names the players, before or after the request
    double list_players = 0.3;  // and each player who has been here among them
    double odd = 0;             // asks for what must be refused
    double garbage = 0;
};

// Shares of what a player does, each on its own, whenever it acts or has to answer.
struct PlayerHabits {
    Duration act_min = std::chrono::seconds(4);
    Duration act_max = std::chrono::seconds(15);
    double idle = 0;  // does nothing for a while
    Duration idle_max = std::chrono::seconds(160);
    double deaf = 0;       // echoes no ping for a while
    double late_echo = 0;  // echoes it up to 45 s late
    double dazed = 0;      // answers no heartbeat for a while
    double no_answer = 0;  // does not answer this one
    double bad_answer = 0;
    double late_answer = 0;
    double drop = 0;         // loses its link, with and without notice
    double late_return = 0;  // and comes back when its grace is about over
    double odd_token = 0;    // with an old token, a wrong one or none
    double elsewhere = 0;    // logs in from another place, as new
    double takeover = 0;     // with the token of a link that lives
    double mute = 0;         // connects, and does not log in
    double logout = 0;
    double garbage = 0;
};

// How often a minute, in the whole world.
struct FaultRates {
    double reset = 0;          // a link is reset
    double vanish = 0;         // a link is half open from now on
    double one_way = 0;        // one direction of a link is lost
    double server_reboot = 0;  // comes back within 30 s without its matches
    double server_leave = 0;   // GOODBYE, and a new registration later
    double server_away = 0;    // off for up to a minute
    double matchmaker_away = 0;
    double crash = 0;
    double shutdown = 0;
    double freeze = 0;       // Muster stands still between two passes
    double stop_inside = 0;  // and inside one
    Duration freeze_max = std::chrono::seconds(60);
    double wall_step = 0;
    double date_ahead = 0;   // the date is days ahead, for a minute or two
    double passer_by = 0;    // somebody connects to the player port and is gone again
    double slow_reader = 0;  // a peer reads nothing for a while
    double disk_full = 0;    // for up to 20 s
    double sync_fails = 0;   // EIO
    double operator_drain = 0;
    double operator_abort = 0;
    double operator_kick = 0;
    double operator_remove = 0;
    double operator_clock = 0;  // sets the world's clock
};

struct Conditions {
    int servers = 3;
    int matchmakers = 2;
    int players = 6;
    int regions = 1;
    int slots_min = 1;  // of a server
    int slots_max = 3;
    Duration duration = std::chrono::minutes(3);  // until the faults are switched off
    NetworkConditions network;
    GatewayConditions gateway;
    DiskConditions disk;
    ServerHabits server;
    MatchmakerHabits matchmaker;
    Rules rules;
    PlayerHabits player;
    double api_asks_per_minute = 0;  // for matches, over HTTP
    FaultRates faults;
    int burst = 0;                              // requests at once, five seconds after the start
    double silenced_at_once = 0;                // share of servers whose links vanish at half time
    bool all_reset_at_once = false;             // all servers' links, at half time
    Duration rest = std::chrono::seconds(150);  // after the faults, until nothing may be left half done
};

// The scenario's world. The seed's numbers vary it, so that no two seeds play the same odds.
Conditions conditions_of(Scenario scenario, Random& random);

// The same world with nothing going wrong any more: everybody honest, quick and patient.
Conditions calmed(const Conditions& conditions);

}  // namespace muster::sim
