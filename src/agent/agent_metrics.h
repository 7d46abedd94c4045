// The agent's figures in Prometheus' text format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/order.h"
#include "agent/supervisor.h"

namespace muster {

// The agent's thread only.
class AgentMetrics {
public:
    void count(const ProcessNews& news, const Process& process);
    void record_not_written() { ++records_not_written_; }

    struct Now {
        bool linked = false;  // this host's own link to Muster
        std::string_view version{};
        std::optional<std::int64_t> certificate_left{};  // seconds until it expires; none: there is none
    };
    // Figures as they are; run names have no letters that need escaping.
    std::string text(const Supervisor& supervisor, const Now& now) const;

private:
    std::map<std::string, std::uint64_t> starts_;                              // by run, as the next ones
    std::map<std::pair<std::string, std::string_view>, std::uint64_t> exits_;  // and how
    std::map<std::string, std::uint64_t> unhealthy_;
    std::map<std::string, std::uint64_t> crash_loops_;
    std::uint64_t records_not_written_ = 0;
};

}  // namespace muster
