#include "daemon/descriptor_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "protocol/port.h"

namespace muster {
namespace {

constexpr std::size_t own_files = 64;
constexpr std::size_t own_files_per_net_thread = 2;  // its epoll and its wake-up

}  // namespace

DescriptorPlan plan_descriptors(const Config& config, std::size_t open_files) {
    const auto threads = static_cast<std::size_t>(config.net.threads);
    const std::size_t own = std::min(own_files + own_files_per_net_thread * threads, open_files / 2);

    DescriptorPlan plan;
    plan.http_connections = std::min(static_cast<std::size_t>(config.limits.http_connections), open_files / 8);
    plan.game_connections = open_files - own - plan.http_connections;

    const auto per_port = static_cast<std::size_t>(config.limits.connections_per_port);
    if (plan.game_connections < ports.size() * per_port) {
        plan.warning = fmt::format(
            "limits.connections_per_port is {}, but the open files limit of {} leaves {} connections for the game "
            "ports together; raise the hard limit (systemd: LimitNOFILE=, shell: ulimit -Hn)",
            per_port, open_files, plan.game_connections);
    }
    return plan;
}

}  // namespace muster
