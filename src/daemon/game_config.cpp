#include "daemon/game_config.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "config/config_serving.h"
#include "core/cell_share.h"
#include "daemon/player_credential.h"

namespace muster {
namespace {

// Without a token any passes: on loopback only, which was judged before.
auto check_of(const Secrets& secrets) {
    return [secrets = secrets](std::string_view token) { return !secrets.is_set() || secrets.matches(token); };
}

PlayerPort::CredentialCheck credential_check_of(const Config& config) {
    using Judged = Result<std::optional<AccountId>, Refusal>;
    if (effective_credentials(config) == Credentials::open)
        return [](std::string_view, std::string_view, UnixMs) { return Judged(std::nullopt); };
    return [keys = config.auth.player_key](std::string_view name, std::string_view credential, UnixMs now) {
        return judge_player_credential(keys, name, credential, now).map([](AccountId account) {
            return std::optional(account);
        });
    };
}

const ListenAddress& listen_of(const Config& config, Port port) {
    switch (port) {
        case Port::servers:
            return config.listen.servers;
        case Port::matchmakers:
            return config.listen.matchmakers;
        case Port::players:
            break;
    }
    return config.listen.players;
}

}  // namespace

std::vector<IpRange> ranges_of(const std::vector<std::string>& texts) {
    std::vector<IpRange> ranges;
    for (const std::string& text : texts) {
        if (const auto range = IpRange::parse(text)) ranges.push_back(*range);
    }
    return ranges;
}

CoreConfig core_config_of(const Config& config, const std::string& cell) {
    CoreConfig core;
    const CellPlans plans = planned_cells(config);
    const CellPlan& plan = cell.empty() ? plans.front() : *std::ranges::find(plans, cell, &CellPlan::name);
    for (const Region& region : config.fleet.regions)
        if (!plan.regions || std::ranges::find(*plan.regions, region.id) != plan.regions->end())
            core.fleet.regions.push_back(region);
    core.fleet.addresses = ranges_of(config.fleet.addresses);
    core.fleet.heartbeat_interval = config.fleet.heartbeat_interval;
    core.fleet.heartbeat_timeout = config.fleet.heartbeat_timeout;
    core.fleet.reconcile_heartbeats = config.fleet.reconcile_heartbeats;
    core.fleet.brake.share = config.fleet.brake_share;
    core.fleet.brake.servers = static_cast<std::size_t>(config.fleet.brake_servers);
    core.fleet.brake.window = config.fleet.brake_window;
    core.fleet.brake.hold = config.fleet.brake_hold;
    core.hosts.awaited_max = config.fleet.host_return_timeout;
    core.hosts.lost_kept = config.fleet.host_memory;
    core.matchmakers.regions = config.fleet.regions;  // it may name regions of other cells, too
    core.matchmakers.heartbeat_interval = config.matchmakers.heartbeat_interval;
    core.matchmakers.heartbeat_timeout = config.matchmakers.heartbeat_timeout;
    core.matches.ack_timeout = config.fleet.allocation_ack_timeout;
    core.matches.retries = config.fleet.allocation_retries;
    core.matches.deadline = config.fleet.allocation_deadline;
    core.matches.in_flight_max = static_cast<std::size_t>(config.fleet.allocations_in_flight);
    core.matches.token_ttl = config.fleet.token_ttl;
    core.matches.lobby_memory = config.fleet.lobby_memory;
    core.matches.ready_timeout = config.fleet.ready_timeout;
    core.share = share_of(plans, plan.name);
    for (const CellPlan& other : plans)
        core.others_have_players = core.others_have_players || (other.players && other.name != plan.name);
    core.players.ping_interval = config.players.ping_interval;
    core.players.ping_timeout = config.players.ping_timeout;
    core.players.idle_after = config.players.idle_after;
    core.players.idle_kick_after = config.players.idle_kick_after;
    core.players.resume_grace = config.players.resume_grace;
    core.players.logins_per_minute = config.limits.logins_per_minute_account;
    core.players.heartbeats.enabled = config.players.heartbeat_enabled;
    core.players.heartbeats.interval = config.players.heartbeat_interval;
    core.players.heartbeats.failures_max = config.players.max_failed_heartbeats;
    core.world.speed = config.clock.speed;
    if (plans.size() > 1)
        core.world.part = plan.name == plans.front().name ? WorldConfig::Part::leads : WorldConfig::Part::follows;
    core.world.start = {static_cast<std::uint8_t>(config.clock.start_day),
                        static_cast<std::uint8_t>(config.clock.start_hour),
                        static_cast<std::uint8_t>(config.clock.start_minute)};
    core.player_order = config.players.byte_order;
    core.wrong_secrets_per_minute = config.limits.wrong_secrets_per_minute_ip;
    core.server_token = check_of(config.auth.server_token);
    core.matchmaker_token = check_of(config.auth.matchmaker_token);
    core.player_credential = credential_check_of(config);
    return core;
}

LoopConfig loop_config_of(const Config& config) {
    LoopConfig loop;
    loop.idle_cpu_enabled = config.game.idle_cpu_enabled;
    loop.idle_sleep = std::chrono::milliseconds(config.game.idle_sleep_milliseconds);
    loop.tick_rate = std::chrono::milliseconds(config.game.tick_rate_milliseconds);
    loop.tick_max = std::chrono::milliseconds(config.game.max_tick_duration_milliseconds);
    // Answers leave at the end of a pass, and a match takes three passes: under overload each should be short.
    loop.message_time = std::chrono::milliseconds(3);
    // A flood of requests is refused as it comes: for that it needs its part of the time, not of the messages.
    loop.share_least = 4'096;
    return loop;
}

PortLimits port_limits_of(const Config& config, Port port) {
    PortLimits limits;
    limits.handshake_deadline = config.limits.handshake_deadline;
    limits.frame_deadline = config.limits.frame_deadline;
    limits.connections_per_ip = static_cast<std::uint32_t>(config.limits.connections_per_ip);
    limits.connections_max = static_cast<std::uint32_t>(config.limits.connections_per_port);
    limits.accepts_per_second_ip = static_cast<std::uint32_t>(config.limits.accepts_per_second_ip);
    limits.flood_close_after = config.limits.flood_close_after;
    limits.unsent_bytes_max = static_cast<std::size_t>(config.limits.unsent_bytes.bytes);
    std::int32_t length = config.limits.frame_players;
    std::int32_t rate = config.limits.messages_per_second_players;
    if (port == Port::servers) {
        length = config.limits.frame_servers;
        rate = config.limits.messages_per_second_servers;
    } else if (port == Port::matchmakers) {
        length = config.limits.frame_matchmakers;
        rate = config.limits.messages_per_second_matchmakers;
    }
    limits.length_max = static_cast<std::uint16_t>(length);
    limits.messages_per_second = static_cast<std::uint32_t>(rate);
    return limits;
}

// Handshakes would hold the game up, and while a relay serves the ports there is no loop to do the network's work.
std::size_t net_threads_of(const Config& config) {
    const bool needs_one = !config.store.url.empty() ||
                           std::ranges::any_of(ports, [&](Port port) { return config.tls.at(to_string(port)); });
    return std::max<std::size_t>(static_cast<std::size_t>(config.net.threads), needs_one ? 1 : 0);
}

NetworkConfig network_config_of(const Config& config, const TlsPorts& tls, std::size_t connections_max, Log& log) {
    NetworkConfig network;
    network.connections_max = static_cast<std::uint32_t>(connections_max);
    for (const Port port : ports) {
        NetworkConfig::OfPort& of = network.of(port);
        const ListenAddress& listen = listen_of(config, port);
        of.listen = SocketAddress(listen.host, listen.port);
        of.limits = port_limits_of(config, port);
        of.tls = tls.of(port);
    }
    network.on_insecure_peer = [&log](const InsecurePeer& peer) { log_insecure_peer(log, peer); };
    network.of(Port::players).order = config.players.byte_order;
    network.threads = net_threads_of(config);
    network.total_buffers = static_cast<std::size_t>(config.limits.total_buffers.bytes);
    return network;
}

void configure_network(Network& network, const Config& config, const TlsPorts& tls) {
    for (const Port port : ports) {
        network.set_limits(port, port_limits_of(config, port));
        if (tls.of(port)) network.set_tls(port, tls.of(port));
    }
    network.set_total_buffers(static_cast<std::size_t>(config.limits.total_buffers.bytes));
}

}  // namespace muster
