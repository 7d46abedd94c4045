// Every decision about the processes of one host: what to start, when, on which port, when to end it, and what to tell
// Muster about it (G-4 to G-7, G-11).
//
//     backoff ──start_at──► starting ──ready──► ready ◄──► allocated
//        ▲                     │ start_timeout     │            │ match over, or stop_grace_allocated
//        │                     └───────────────────┴──► stopping ──stop_grace──► (SIGKILL)
//        └──────────────────────── exit ◄─────────────────────┘      unhealthy: as stopping
//
// No I/O, no clock: calls bring what happened and when, take_orders() says what is to be done. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/order.h"
#include "agent/port_pool.h"
#include "agent/process.h"
#include "agent/run_config.h"
#include "agent/sdk_side.h"
#include "base/entropy.h"
#include "base/result.h"

namespace muster {

// A process that an earlier agent started: it still runs, or has ended.
struct Adopted {
    std::string name{};
    std::string run{};
    std::shared_ptr<const RunConfig> config{};  // that it was started with, as far as that is known
    std::string fingerprint{};                  // of what it was started with; empty: of `config`
    std::int32_t pid = 0;
    std::uint16_t port = 0;
    std::string life{};
    UnixMs started_at{};
    Duration ran{};
    std::int32_t restarts = 0;
    RestartPace pace{};
    Time starts_at{};                        // of one that waits for its next start
    std::optional<ProcessExit> last_exit{};  // of an earlier life
    bool was_ready = false;
    std::optional<MatchHeld> match{};
};

class Supervisor {
public:
    // Muster is told this long after a match is ready that it has started: neither Agones nor a plain program says so.
    static constexpr Duration joining_time = std::chrono::seconds(30);
    // So long Muster has to say whether a process that registered itself still has a match.
    static constexpr Duration ask_patience = std::chrono::seconds(3);
    // What SIGKILL did not end is killed again.
    static constexpr Duration kill_again = std::chrono::seconds(1);

    // The entropy outlives it. Nothing is started before the first tick().
    Supervisor(PortRange range, Entropy& entropy) : ports_(range), entropy_(entropy) {}

    // After the first configure(), before the first tick(), and followed by configure() again, which ends what is not
    // wanted. False when its place or port is taken: then the caller ends it.
    [[nodiscard]] bool adopt(Moment at, Adopted adopted);
    // The same for one that ended while no agent watched: Muster hears that its match is over, and it is started again.
    [[nodiscard]] bool bury(Moment at, Adopted adopted, ExitStatus status);
    // One that waited for its next start: it goes on waiting. False when it is not wanted any more.
    [[nodiscard]] bool rest(Moment at, Adopted resting);

    // The config, at the start and again at a reload. Counts change at once; a process whose settings changed is
    // replaced once it is free; a run that is gone is drained. A process keeps its port as long as it runs; each start
    // is on a port of the range.
    void configure(Moment at, PortRange range, const std::vector<RunConfig>& runs);

    // Before a StartProcess is carried out that has waited: false when it is not wanted any more, and then it is over,
    // or when another order takes its place, since its port is not one of the range any more.
    [[nodiscard]] bool start_wanted(Moment at, ProcessId id);
    // Answers to StartProcess.
    void spawned(Moment at, ProcessId id, std::int32_t pid);
    void spawn_failed(Moment at, ProcessId id, std::string_view why);
    void port_taken(Moment at, ProcessId id);

    // What the layer sees.
    void port_bound(Moment at, ProcessId id);
    void exited(Moment at, ProcessId id, ExitStatus status);
    void heard(Moment at, ProcessId id, const SdkFact& fact);

    // What Muster says of the process's game server.
    void offered(Moment at, ProcessId id, const SdkMatch& match);
    void aborted(Moment at, ProcessId id, LobbyId lobby, std::string_view reason);
    // The host could not tell the process of the match that it was offered: it is declined, and the process goes on.
    void not_told(ProcessId id, LobbyId lobby);
    // How many matches a process that registered itself holds, and as which server (sdk = "muster"); 0: as none yet.
    void matches_held(Moment at, ProcessId id, std::int32_t count, ServerId server = {});

    // What operators wish. The failure is a sentence for them.
    Result<void, std::string> restart(Moment at, std::string_view name);
    // Whether scale() would do it: so that it can be written down first.
    Result<void, std::string> may_scale(std::string_view name, std::int32_t count) const;
    Result<void, std::string> scale(Moment at, std::string_view name, std::int32_t count);
    // No new matches for any process, or again.
    void drain(Moment at, bool draining);
    // Ends everything, gently; `at_once` does not wait for matches.
    void end_all(Moment at, bool at_once);

    void tick(Moment at);
    // When to call tick() next, if nothing else comes first.
    std::optional<Time> next_tick() const;
    // Empty when there is nothing to do. A process of a run that is gone can be found until all that was ordered about
    // it is done, which is when the next call is made.
    std::vector<Order> take_orders();

    // By ascending run, then number; those that are stopped included.
    std::vector<const Process*> processes() const;
    const Process* find(ProcessId id) const;
    const Process* find(std::string_view name) const;
    // How many processes of the run are wanted; none when there is no such run.
    std::optional<std::int32_t> wanted(std::string_view run) const;
    std::vector<std::string> runs() const;
    bool draining() const { return draining_; }
    // Nothing lives any more.
    bool all_ended() const;

private:
    struct Run {
        std::shared_ptr<const RunConfig> config{};
        std::string fingerprint{};  // of the config
        std::int32_t wanted = 0;
        bool gone = false;  // not in the config any more
    };
    struct Place {
        std::string run{};
        std::int32_t number = 0;
        auto operator<=>(const Place&) const = default;
    };

    // None when it is no name of a process of that run.
    static std::optional<Place> place_of(const Adopted& process);
    Process* find_process(ProcessId id);
    Process& add_process(const Place& place, std::shared_ptr<const RunConfig> config);
    const Run& run_of(const Process& process) const;
    // Brings the number of processes to what is wanted.
    void balance(Moment at, const std::string& name);
    void forget_stopped();

    void start(Moment at, Process& process);
    void became_ready(Moment at, Process& process);
    void register_at_muster(Process& process);
    void leave_muster(Process& process, bool crashed);
    void set_state(Process& process, ProcessState state);

    void wish_end(Moment at, Process& process, EndWish wish, std::string_view reason);
    void withdraw_wish(Process& process);
    // Ends one that is wished to end, or is to be replaced, if nothing holds it up any more.
    void end_if_free(Moment at, Process& process);
    // One whose settings are not the run's is replaced once it is free; one whose settings are the run's again stays.
    void compare_settings(Moment at, Process& process, const Run& run);
    // Ends it now, match or not.
    void end(Moment at, Process& process, ProcessState shown, std::string_view reason);
    void after_exit(Moment at, Process& process, Duration ran, bool failed);
    void fail_start(Moment at, Process& process, std::string_view why);
    void match_over(Moment at, Process& process, bool tell_muster);
    void update_draining(Process& process);
    void tick(Moment at, Process& process);
    std::optional<Time> due(const Process& process) const;
    void tell(ProcessNews::Kind kind, const Process& process, std::string_view text = {});
    bool holds_match(const Process& process) const;

    PortPool ports_;
    Entropy& entropy_;
    std::map<std::string, Run> runs_;
    std::map<Place, Process> processes_;
    std::map<ProcessId, Place> places_;
    std::int32_t last_id_ = 0;
    bool draining_ = false;
    bool ending_ = false;
    std::vector<Order> orders_;
};

}  // namespace muster
