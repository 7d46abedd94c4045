// Every command of the program, each in a file of its own.
#pragma once

#include <functional>
#include <vector>

#include "cli/command.h"

namespace muster {

Command serve_command();
Command config_command();
Command protocol_command();
Command agent_command();
Command up_command();
Command player_token_command();
Command certs_command();

// On the store's file.
Command backup_command();
Command restore_command();
Command store_command();

// Clients of a running daemon.
Command status_command();
Command top_command();
Command servers_command();
Command server_command();
Command drain_command();
Command undrain_command();
Command remove_command();
Command hosts_command();
Command host_command();
Command logs_command();
Command restart_command();
Command scale_command();
Command regions_command();
Command matchmakers_command();
Command cluster_command();
Command matches_command();
Command match_command();
Command allocate_command();
Command abort_command();
Command players_command();
Command kick_command();
Command clock_command();
Command events_command();
Command operator_command();
Command operators_command();
Command block_command();
Command unblock_command();
Command blocks_command();

Command demo_command();
Command simulate_command();
Command bench_command();

// These two tell of all the others, which `program` gives once everything is known.
Command completion_command(std::function<const Program&()> program);
Command man_command(std::function<const Program&()> program);

}  // namespace muster
