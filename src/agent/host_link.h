// The agent's own link to Muster: tells the host and its processes, hears what operators wish (G-12).
//
// No sockets, no threads: sdk::TcpRunner drives it as any client of Muster. It reconnects with backoff and full jitter,
// and after each hello tells everything again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "muster/client.h"
#include "protocol/host_messages.h"
#include "protocol/server_messages.h"
#include "sdk/src/link.h"

namespace muster {

struct HostLinkOptions {
    std::string token{};
    std::string name{};
    std::string address{};
    RegionId region{};
    std::string version{};
};

// The link came up or went down, or Muster refused something; for the log.
struct HostLinkNews {
    bool online = false;
    std::string problem{};   // empty: none
    bool by_muster = false;  // the problem is in Muster's words
};

using HostSaid =
    std::variant<DrainHost, RestartProcess, ScaleRun, ReadLog, ProcessMatches, HostMatchPlayers, HostLinkNews>;

// One thread: the runner's, once it is in one.
class HostLink final : public sdk::Client {
public:
    // What happened while there was no link is told later: so much of it, the oldest goes first.
    static constexpr std::size_t news_kept_max = 500;
    // Muster that has not answered a report for so long is gone.
    static constexpr std::chrono::seconds answer_max{20};

    using OnSaid = std::function<void(HostSaid)>;
    HostLink(HostLinkOptions options, OnSaid on_said);
    ~HostLink() override { leave_runner(); }

    // What the agent has to say. Before there is a link it is kept, as far as Muster wants to know it then.
    void tell(const ProcessReport& report);
    // What happened to it before is still told.
    void forget(const std::string& process);
    void tell(const HostReport& report);
    // Of no use without the link that asked.
    template <HostMessage M>
    void answer(const M& message) {
        if (link_.online()) link_.send(message);
    }
    // All processes have ended: Muster forgets the host. Never again after this.
    void goodbye();

    bool online() const { return link_.online(); }

    void seed_jitter(std::uint64_t seed) override { link_.seed_jitter(seed); }
    bool wants_connection() const override { return link_.wants_connection(); }
    void connected(sdk::Time now) override;
    void disconnected(sdk::Time now) override;
    void failed(std::string_view address, const sdk::Outcome& why) override;
    void receive(std::span<const std::byte> bytes, sdk::Time now) override;
    std::vector<std::byte> take_output() override { return link_.take_output(); }
    void tick(sdk::Time now) override;
    std::optional<sdk::Time> next_tick() const override;

private:
    void take(const HostWelcome& welcome);
    void take(const HostReportAck& ack);
    void take(const ServerError& error);
    template <class M>
    void take(const M& message);
    void tell_everything();
    void say_offline(HostLinkNews news, const std::string& address = {});

    const HostLinkOptions options_;
    const OnSaid on_said_;
    sdk::Link link_;
    sdk::Time now_{};
    std::map<std::string, ProcessReport> processes_;  // as they stand
    std::deque<ProcessReport> news_;                  // that Muster has not heard
    HostReport host_{};
    bool host_known_ = false;               // the agent has measured it
    std::optional<sdk::Time> answer_by_{};  // of a report that was sent
    bool was_online_ = false;
    std::map<std::string, std::string> told_{};  // since it was online, the last problem of each address; "": of all
};

}  // namespace muster
