// What the Agones SDK server knows of one life of one game process, and how its calls and Muster's offers meet (G-20,
// G-21).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sdk_side.h"
#include "agones/calls.h"
#include "agones/game_server.h"
#include "base/ids.h"
#include "base/time.h"

namespace muster::agones {

// What is known of a process before it says anything.
struct Process {
    std::string name{};     // of the object: <host>-<process>
    std::string process{};  // as the agent's log names it
    std::string fleet{};    // the run
    std::string address{};
    std::uint16_t port = 0;
    TextMap labels{};
    Duration health_period = std::chrono::seconds(5);  // 0: no pings are expected
    Duration health_delay = std::chrono::seconds(5);
    std::int32_t health_failures = 3;
    bool player_tracking = false;
    std::int64_t player_capacity = 0;
    Counters counters{};
    Lists lists{};
    // After an abort by Muster: how long it has to say Ready before it is ended.
    Duration abort_grace = std::chrono::seconds(30);
};

// Decides without I/O; one thread at a time. `now` never goes backwards between calls.
//
//   state         left by
//   Scheduled     Ready, Allocate, Reserve
//   Ready         Allocate, Reserve, an offer
//   Reserved      Ready, Allocate, its time
//   Allocated     Ready (the match is over), Reserve (so too)
//   any of these  Shutdown, Muster's stop, an abort that no Ready follows: Shutdown; too few pings: Unhealthy
//   Unhealthy, Shutdown   never: calls are answered and change nothing
//
// Ready passes through RequestReady at once; a watcher sees both.
class Session {
public:
    struct Life {
        Time begun{};
        UnixMs wall{};  // at that moment
        std::string uid{};
    };

    Session(Process process, Life life);

    // Of the process. A refusal has changed nothing.
    Reply call(Time now, const Call& call);

    // Of Muster. An offer to a process that is not Ready any more is left without an answer: the fact that says why is
    // on its way. An abort of a match that it does not hold is over already.
    void offer(Time now, const SdkMatch& match);
    void abort(Time now, LobbyId lobby, std::string_view reason);
    void stop(Time now);

    // Streams that ended with an agent may never come back: some clients open them once. Then missed pings do not
    // count, and the process is out of reach until it watches and pings again.
    void lose_watch(Time now);
    void watched();
    bool watch_lost() const { return watch_lost_; }
    bool pings_singly() const { return pings_singly_; }

    // Where players reach it, once that is known.
    void set_address(std::string address, std::uint16_t port);

    // Counts missed pings and ends what was limited. A late tick counts one missed period only: an agent that was
    // stopped must not blame its processes.
    void tick(Time now);
    std::optional<Time> next_tick() const;

    std::vector<SdkFact> take_facts();
    bool has_facts() const { return !facts_.empty(); }
    // Every state of the object since the last call, oldest first; when there were too many, the newest of them.
    std::vector<SharedGameServer> take_changes();
    SharedGameServer present() const { return present_; }

    // All of it as one line, and back; times that run begin anew. None when the text is not of saved().
    std::string saved() const;
    static std::optional<Session> restored(Process process, Time now, UnixMs wall, std::string_view saved);

private:
    static constexpr std::size_t changes_max = 64;
    struct Answering;

    bool is_over() const;
    void change(auto&& edit);
    void enter(State state);
    void ready();
    void allocate(Time now);
    void reserve(Time now, std::int64_t length_s);
    void shut_down(Time now);
    void drop_match();
    void lose_touch(Time now);
    void regain_touch();
    Duration return_time() const;
    void fact(SdkFact::Kind kind, LobbyId lobby = {}, std::string reason = {});
    Reply set_metadata(TextMap GameServer::* which, const std::string& key, const std::string& value);
    std::int64_t unix_seconds(Time now) const;
    std::string rfc3339(Time now) const;
    std::optional<Time> earliest() const;

    Process process_;
    Life life_;
    GameServer object_;
    SharedGameServer present_;
    std::optional<SdkMatch> match_;
    std::optional<Time> health_due_;  // when a ping will have been missed
    std::int32_t missed_pings_ = 0;
    bool pings_singly_ = false;  // the last one came by a request of its own
    bool pings_lost_ = false;    // with the agent before, as is the next
    bool watch_lost_ = false;
    std::optional<Time> return_due_;  // when it should be in reach again
    std::optional<Time> reserved_until_;
    std::optional<Time> abort_due_;  // when it should have said Ready

    std::vector<SdkFact> facts_;
    std::vector<SharedGameServer> changes_;
};

}  // namespace muster::agones
