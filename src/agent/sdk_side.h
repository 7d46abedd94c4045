// The SDK side of a process: what a game process says through the SDK that it links, and what it is told through it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace muster {

// none: any program. muster: the process registers itself. agones, gsdk: the agent serves that SDK's protocol.
enum class SdkKind : std::uint8_t { none, muster, agones, gsdk };

// A match that Muster offers to the process.
struct SdkMatch {
    LobbyId lobby{};
    std::int8_t game_type = 0;
    std::int8_t game_mode = 0;
    std::string token{};
    bool operator==(const SdkMatch&) const = default;
};

struct SdkFact {
    enum class Kind : std::uint8_t {
        ready,             // it can take a match; if it holds one, that one is over
        accepted,          // it takes the match `lobby`
        match_ready,       // players of the match `lobby` may come (implies accepted)
        match_ended,       // the match `lobby` is over
        allocated_itself,  // it runs a match that Muster did not give it: counted, no offers until ready
        reserved,          // no offers until ready
        out_of_reach,      // it may not hear of a match: no offers until in_reach
        in_reach,
        to_be_replaced,  // it stays out of reach: ended and started again once it is free, unless it is in_reach
        unhealthy,       // to be ended and started again; never left
        shutdown,        // it wishes to end; never left
    };

    Kind kind = Kind::ready;
    LobbyId lobby{};
    std::string reason{};  // of unhealthy, of to_be_replaced, and of a shutdown that it did not ask for; for people
    bool operator==(const SdkFact&) const = default;
};

struct EnvironmentEntry {
    std::string name;
    std::string value;
    bool operator==(const EnvironmentEntry&) const = default;
};

// One for each process, over all its lives. Decides without I/O: the server that speaks to the process feeds it, under
// a lock of its own when that is on another thread, and wakes the agent when there is a new fact.
//
// These calls come on the agent's thread. `now` never goes backwards between them.
class SdkSide {
public:
    SdkSide() = default;
    SdkSide(const SdkSide&) = delete;
    SdkSide& operator=(const SdkSide&) = delete;
    virtual ~SdkSide() = default;

    // A new life of the process is about to start: whatever was said before is void. Returns what its environment gets
    // beside what every process gets. `life` is the same over an adoption and differs between lives.
    virtual std::vector<EnvironmentEntry> begin_life(Time now, std::string_view life) = 0;
    // The process has ended; nobody may speak for it any more.
    virtual void end_life(Time now) = 0;

    // At most one match at a time, and only after `ready`.
    virtual void offer(Time now, const SdkMatch& match) = 0;
    // Who may play the match, if that is known; it may come after the offer, or not at all. Most SDKs have no word for
    // it.
    virtual void set_players(LobbyId lobby, const std::vector<AccountId>& accounts) {
        static_cast<void>(lobby);
        static_cast<void>(accounts);
    }
    // Muster has dropped the match. What the process should do about it is for the SDK to say (G-21, G-31).
    virtual void abort(Time now, LobbyId lobby, std::string_view reason) = 0;
    // The process is to end: its stop signal follows.
    virtual void stop(Time now) = 0;

    // What was said, and what time has brought, since the last call.
    virtual std::vector<SdkFact> take_facts(Time now) = 0;
    // When to ask for facts though nobody spoke.
    virtual std::optional<Time> next_tick() const = 0;

    // For adoption by a new agent (G-7): all that begin_life() and the process have set, ports included, as one line of
    // text without control characters; empty when nothing needs to be kept. restore() takes the place of begin_life().
    virtual std::string saved() const = 0;
    // Another number when saved() may be another text, though no fact says so.
    virtual std::uint64_t revision() const { return 0; }
    // True once after a change of saved() without which the next agent would serve the process wrongly. What only
    // revision() tells may be lost with an agent that dies within a second.
    virtual bool take_urgent() { return false; }
    virtual void restore(Time now, std::string_view life, std::string_view saved) = 0;
};

}  // namespace muster
