#include "cli/program.h"

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "process/exit_code.h"
#include "process/version.h"

namespace muster {
namespace {

constexpr const char* about =
    "Muster runs the fleet behind an online game: it knows which game servers are alive, gives each match to the best\n"
    "one, admits players by token and keeps everyone on one clock.";

std::vector<HelpLine> examples() {
    return {
        {"muster help drain", "the arguments and flags of one command"},
        {"muster demo", "run the daemon with a small simulated fleet"},
        {"muster up --count 8 -- ./server -port {port}", "run the daemon and eight of your game servers"},
        {"muster config --default > muster.toml", "write a config to start from"},
        {"muster serve --config muster.toml", "run with it, in the foreground"},
        {"MUSTER_LOG_LEVEL=debug muster serve", "run on the defaults with one key changed"},
        {"muster status", "health and the fleet by region; `top` is the live view"},
        {"muster servers --region EU --sort load", "the fullest servers of a region"},
        {"muster events --follow --type match.", "stream match events"},
    };
}

std::vector<HelpLine> environment() {
    return {
        {"MUSTER_URL", "address of the daemon; default http://127.0.0.1:11030"},
        {"MUSTER_ADMIN_TOKEN", "its admin token or an operator's, if it requires one"},
        {"MUSTER_CA_FILE", "the authority of its certificate, for https"},
        {"NO_COLOR", "no colours, even on a terminal"},
    };
}

std::vector<HelpLine> exit_codes() {
    const auto line = [](int code, const char* text) { return HelpLine{std::to_string(code), text}; };
    return {
        line(to_int(ExitCode::ok), "success, or stopped on request"),
        line(exit_failed, "command failed, or daemon unhealthy"),
        line(to_int(ExitCode::usage), "unknown command or bad argument"),
        line(to_int(ExitCode::damaged_store), "the store is damaged, not Muster's, or from a newer version"),
        line(to_int(ExitCode::unavailable), "no daemon answers, or a port cannot be opened"),
        line(to_int(ExitCode::internal), "internal error"),
        line(to_int(ExitCode::in_use), "another process holds the store or the folder"),
        line(to_int(ExitCode::io), "disk or file error"),
        line(exit_not_allowed, "permission denied: the token is missing or wrong, or its role does not suffice"),
        line(to_int(ExitCode::config), "the config is invalid or unsafe"),
    };
}

}  // namespace

Program whole_program() {
    // The two that print what all commands are hold the list by a pointer of their own: filled once all are known.
    const auto all = std::make_shared<Program>();
    const auto known = [all]() -> const Program& { return *all; };
    Program program{"muster", std::string(version()), about, examples(), environment(), exit_codes(), {}};
    program.commands = {
        serve_command(),    up_command(),           agent_command(),
        demo_command(),     status_command(),       top_command(),
        servers_command(),  server_command(),       drain_command(),
        undrain_command(),  remove_command(),       hosts_command(),
        host_command(),     logs_command(),         restart_command(),
        scale_command(),    regions_command(),      matchmakers_command(),
        cluster_command(),  matches_command(),      match_command(),
        allocate_command(), abort_command(),        players_command(),
        kick_command(),     clock_command(),        events_command(),
        operator_command(), operators_command(),    block_command(),
        unblock_command(),  blocks_command(),       config_command(),
        protocol_command(), player_token_command(), certs_command(),
        backup_command(),   restore_command(),      store_command(),
        simulate_command(), bench_command(),        completion_command(known),
        man_command(known),
    };
    *all = program;
    for (Command& command : all->commands) command.run = {};  // they would hold themselves
    return program;
}

}  // namespace muster
