// One turn after another: what happened goes to the supervisor, what it orders is done.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent_config.h"
#include "agent/agent_metrics.h"
#include "agent/host.h"
#include "agent/host_reports.h"
#include "agent/host_side.h"
#include "agent/muster_side.h"
#include "agent/proc.h"
#include "agent/sdk_server.h"
#include "agent/sdk_side.h"
#include "agent/supervisor.h"
#include "base/entropy.h"
#include "base/log.h"
#include "base/time.h"

namespace muster {

// The agent's thread only. Everything given to it outlives it.
class AgentLoop {
public:
    AgentLoop(const AgentConfig& config, const Clock& clock, Log& log, Host& host, StateFolder& folder,
              MusterSide& muster, HostSide& host_side, SdkServer& sdk_server);

    // Adopts what earlier agents left. Once, before the first turn.
    void begin();
    void turn();
    // When the next turn is due, if nothing happens before.
    Time next_turn() const;

    void reload(const AgentConfig& config);
    // Ends all processes, and with `at_once` their matches too.
    void end_all(bool at_once);
    bool all_ended() const;
    // Prometheus' text, as things are. `certificate_left`: seconds until the agent's certificate expires.
    std::string metrics(std::optional<std::int64_t> certificate_left) const;

    Supervisor& supervisor() { return supervisor_; }

private:
    // Of a log, in one answer.
    static constexpr std::int32_t log_bytes_most = 64 * 1024;
    // Lists of players that are kept; the lowest lobby goes first.
    static constexpr std::size_t listed_most = 1024;

    Moment moment() const { return {clock_.now(), clock_.wall()}; }
    void adopt_survivors(Moment at);
    void adopt(Moment at, const ProcessRecord& record);
    void bury(Moment at, const ProcessRecord& record, ExitStatus status);
    void rest(Moment at, const ProcessRecord& record);
    void hear_muster(Moment at);
    void hear_host(Moment at);
    void hear_sdks(Moment at);
    void look_for_ports(Moment at);
    void keep_house(Moment at);
    void keep_folder();
    void obey(Moment at);
    void obey(Moment at, const Order& order);
    void do_order(Moment at, const StartProcess& order);
    void start_some(Moment at);
    void start(Moment at, const StartProcess& order);
    void do_order(Moment at, const StopProcess& order);
    void do_order(Moment at, const KillProcess& order);
    void do_order(Moment at, const JoinMuster& order);
    void do_order(Moment at, const LeaveMuster& order);
    void do_order(Moment at, const DrainAtMuster& order);
    void do_order(Moment at, const AskMatches& order);
    void do_order(Moment at, const OfferMatch& order);
    void do_order(Moment at, const DropMatch& order);
    void do_order(Moment at, const TellMatch& order);
    void do_order(Moment at, const ProcessNews& news);
    void obey_host(Moment at, const HostLinkNews& news);
    void obey_host(Moment at, const DrainHost& wish);
    void obey_host(Moment at, const RestartProcess& wish);
    void obey_host(Moment at, const ScaleRun& wish);
    void obey_host(Moment at, const ReadLog& wish);
    void obey_host(Moment at, const ProcessMatches& told);
    void obey_host(Moment at, const HostMatchPlayers& told);
    // What an operator wishes and the disk does not keep is not done.
    void refuse_unwritten(std::uint32_t question);
    void report_process(const Process& process, ReportedNews news);
    void report_host();
    void restore_counts(Moment at);
    // What the config says; none when it has no such run.
    std::optional<std::int32_t> configured_count(std::string_view run) const;
    void write_record(const Process& process);
    void tell_news(const ProcessNews& news, const Process& process);
    SdkSide* sdk_of(ProcessId process) const;

    AgentConfig config_;
    const Clock& clock_;
    Log& log_;
    Host& host_;
    StateFolder& folder_;
    MusterSide& muster_;
    HostSide& host_side_;
    SdkServer& sdk_server_;
    SystemEntropy entropy_;
    Supervisor supervisor_;
    struct Sdk {
        std::unique_ptr<SdkSide> side;
        std::uint64_t written = 0;  // the revision that stands in its record
    };
    std::map<ProcessId, Sdk> sdks_;      // of the lives of now
    std::deque<StartProcess> starts_;    // that are ordered and wait for their turn
    std::set<ProcessId> written_first_;  // of the orders that are being obeyed
    std::set<ProcessId> unwritten_;      // whose records the disk did not take; tried again with each look at the logs
    HostReports reports_;
    AgentMetrics metrics_;
    HostMeter meter_;
    std::map<LobbyId, std::vector<AccountId>> listed_;      // who may play, of matches offered lately
    std::map<std::string, OperatorCount> operator_counts_;  // over the config's
    Time next_port_look_{};
    Time next_log_look_{};
    Time next_load_look_{};
    Time next_leftover_look_{};
    bool folder_lost_ = false;    // told
    bool watches_ports_ = false;  // some process is ready once its port is bound
};

}  // namespace muster
