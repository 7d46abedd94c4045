// The hosts whose agents have told us of them, and the processes there (G-12).
//
// What an agent knows it tells again after each hello. What was told is stored as well (host_records.h), so that after
// a restart of Muster it is known whose agent does not return:
//
//   state      | its agent                                  | leaves it
//   connected  | has a link                                 | by a good-bye (forgotten), or when the link is lost
//   (lost) awaited    | had one when Muster ended                  | by a hello (connected), or after awaited_max
//   (lost) lost       | has none; it is shown with what it had     | by a hello (connected), or after lost_kept, by an
//              |                                            | operator, or when another needs the room (forgotten)
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/issued_time.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "core/host_records.h"
#include "core/host_verdict.h"
#include "core/known_host.h"
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/records.h"
#include "protocol/error_texts.h"
#include "protocol/host_messages.h"
#include "runtime/events.h"
#include "runtime/pass.h"
#include "runtime/timers.h"

namespace muster {

struct HostsConfig {
    // After a restart of Muster, agents have so long to return: they try again within half a minute.
    Duration awaited_max = std::chrono::minutes(2);
    // A lost host is shown for so long.
    Duration lost_kept = std::chrono::hours(24);
};

struct HostCounts {
    std::size_t connected = 0;
    std::size_t awaited = 0;
    std::size_t lost = 0;
    std::array<std::uint64_t, process_state_count> processes{};  // by ProcessState; of connected hosts
    // Since the start.
    std::uint64_t joined = 0;
    std::uint64_t losses = 0;
    std::map<std::string_view, std::uint64_t> exits;  // by how: clean, code, signal, unknown
    std::uint64_t crash_loops = 0;
    std::uint64_t events_held_back = 0;
    std::uint64_t refused = 0;  // hellos and processes
};

// Game thread only.
class Hosts {
public:
    static constexpr std::size_t hosts_max = 1'000;
    static constexpr std::size_t processes_of_host_max = 2'000;
    static constexpr std::size_t processes_max = 20'000;  // of all hosts
    static constexpr std::size_t questions_of_host_max = 64;
    static constexpr std::int32_t log_bytes_max = 64 * 1024;
    // Events of one host's processes; further ones are counted.
    static constexpr std::uint32_t events_per_minute_max = 5'000;
    // Reports come every five seconds.
    static constexpr std::chrono::seconds silence_max{20};
    // Another agent may take the name of one that has been silent for so long.
    static constexpr std::chrono::seconds takeover_after{12};
    static constexpr std::chrono::seconds answer_limit{4};

    // All of them outlive it.
    struct Parts {
        Timers& timers;
        Events& events;
        Log& log;
        LinkTable& links;
        IssuedTime& issued;
        Ledger& ledger;
    };

    Hosts(const HostsConfig& config, const Parts& parts) : config_(config), parts_(parts), records_(parts.ledger) {}

    // A reload's new figures: for what is awaited or lost from now on.
    void configure(const HostsConfig& config) { config_ = config; }

    // Once, before all else: those that were known when Muster ended are awaited, or lost still.
    void recover(const Pass& pass, const RecoveredState& recovered);

    // The token judged before. A failure changes nothing. A silent link that the newcomer took over from is closed.
    // Where the link's certificate proves a name, the host must have that one (S-2).
    Result<HostNumber, HostRefusal> hello(const Pass& pass, const Link& from, const HostHello& hello);
    void report(const Pass& pass, HostNumber number, const HostReport& report);
    // A failure changes nothing but that the host was heard.
    Result<void, HostRefusal> report(const Pass& pass, HostNumber number, const ProcessReport& report);
    void process_gone(HostNumber number, std::string_view process);
    void answered(HostNumber number, const HostAnswer& answer);
    void log_part(HostNumber number, const HostLogPart& part);
    // Any message is a sign of life.
    void heard(const Pass& pass, HostNumber number);
    // On purpose: it is forgotten at once.
    void leave(HostNumber number);
    // It is kept for a while, with its processes as they were.
    void link_lost(const Pass& pass, HostNumber number, ConnectionId link);
    // Muster does not read the link from now on, and reads it again.
    void paused(const Pass& pass, HostNumber number);
    void resumed(const Pass& pass, HostNumber number);

    enum class Forgetting : std::uint8_t { done, unknown, connected };
    // An operator wants to see it no more. One that is connected stays.
    Forgetting forget(std::string_view name);

    // Asks the agent. The verdict comes by take_verdicts(), once, within answer_limit.
    void ask(std::uint64_t number, std::string_view name, HostCommand command);
    std::vector<HostVerdict> take_verdicts() { return std::exchange(verdicts_, {}); }

    // Who a process that registers itself is in the fleet; the agent hears so when it is news to it.
    void tell_matches(KnownHost& host, HostProcess& process, ServerId server, std::int32_t matches);

    // Null when there is none.
    KnownHost* find(HostNumber number);
    const KnownHost* find(std::string_view name) const;
    // Whose process the game server is, as its agent says.
    const KnownHost* host_of(ServerId server) const;
    std::size_t size() const { return hosts_.size(); }
    HostCounts counts() const;

    // By ascending name.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& [name, number] : by_name_) visit(hosts_.at(number));
    }
    // Calls visit(host) for those that come after `last`, at most `most`. False when there are more.
    template <class Visit>
    bool visit_after(std::string_view last, std::size_t most, Visit visit) const {
        auto next = by_name_.upper_bound(last);
        for (; next != by_name_.end() && most > 0; ++next, --most) visit(hosts_.at(next->second));
        return next == by_name_.end();
    }

private:
    struct Question {
        std::uint64_t asker = 0;
        HostNumber host;
        std::string text{};  // of a log, as far as it came
        TimerId limit;
    };

    KnownHost& enroll(KnownHost&& host);
    void silence_due(const Pass& pass, HostNumber number);
    void lose(const Pass& pass, KnownHost& host, std::string_view reason);
    void forget_later(KnownHost& host, Duration delay);
    void forget(HostNumber number, std::string_view why);
    bool forget_longest_lost();
    void drop_process(KnownHost& host, std::string_view process);
    void is_server(HostNumber host, ServerId before, ServerId now);
    void settle(std::uint32_t question, HostVerdict::Kind kind, std::string text = {}, std::int64_t position = 0);
    void settle_all(HostNumber number);
    void tell_news(const Pass& pass, KnownHost& host, const HostProcess& process, ReportedNews news);
    bool may_tell(const Pass& pass, KnownHost& host);

    HostsConfig config_;
    const Parts parts_;
    HostRecords records_;
    std::map<HostNumber, KnownHost> hosts_;
    std::map<std::string, HostNumber, std::less<>> by_name_;
    std::size_t process_count_ = 0;  // of all hosts
    std::map<ServerId, HostNumber> by_server_;
    std::map<std::uint32_t, Question> questions_;
    std::vector<HostVerdict> verdicts_;
    std::int32_t next_number_ = 1;
    std::uint32_t next_question_ = 1;
    HostCounts counts_;  // those since the start
};

}  // namespace muster
