// The host's own link on the SDK's thread, and the agent's thread beside it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/agent_tls.h"
#include "agent/host_link.h"
#include "base/time.h"
#include "muster/tcp_runner.h"

namespace muster {

// Calls come on the agent's thread; `wake` is called on the runner's when there is something to take.
class HostSide {
public:
    // The runner runs already and outlives it, and so does `tls`.
    HostSide(HostLinkOptions options, std::vector<std::string> join, sdk::TcpRunner& runner, const AgentTls& tls,
             std::function<void()> wake);
    ~HostSide() = default;

    void tell(const ProcessReport& report);
    void forget(const std::string& process);
    void tell(const HostReport& report);
    void answer(std::uint32_t question, std::string_view refusal);  // empty: done
    void send_log(std::uint32_t question, std::string_view text, std::int64_t position);
    void ask_matches(const std::string& process, bool draining);
    void goodbye();

    std::vector<HostSaid> take_said();
    bool online() const { return online_; }
    // Why it is not, as far as was taken.
    const std::string& problem() const { return problem_; }
    // Tries the next address when there is nobody at this one.
    void tidy(Time now);

private:
    template <class Command>
    void command(Command command);

    const std::vector<std::string> join_;
    const std::function<void()> wake_;
    sdk::TcpRunner& runner_;
    const AgentTls& tls_;
    bool online_ = false;  // as far as was taken
    std::string problem_{};
    std::size_t address_ = 0;
    Time since_{};  // it is not online

    std::mutex mutex_;
    std::vector<HostSaid> said_;  // guarded by mutex_

    std::unique_ptr<HostLink> link_;
};

}  // namespace muster
