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
    "Muster keeps an online game's fleet honest: it knows which game servers live, hands each match to the best one,\n"
    "lets players in and keeps everyone on one clock.";

std::vector<HelpLine> examples() {
    return {
        {"muster demo", "see it alive, with a fleet that plays"},
        {"muster config --default > muster.toml", "write a config to start from"},
        {"muster serve --config muster.toml", "run with it, in the foreground"},
        {"MUSTER_LOG_LEVEL=debug muster serve", "run on the defaults but for one key"},
        {"muster status", "whether the whole is well; top keeps looking"},
        {"muster servers --region EU --sort load", "the fullest servers of a region"},
        {"muster events --follow --type match.", "what happens to matches, as it happens"},
    };
}

std::vector<HelpLine> environment() {
    return {
        {"MUSTER_URL", "where the daemon is that commands ask; http://127.0.0.1:11030 when not set"},
        {"MUSTER_ADMIN_TOKEN", "its admin token, where it asks for one"},
        {"NO_COLOR", "no colours, even on a terminal"},
    };
}

std::vector<HelpLine> exit_codes() {
    const auto line = [](int code, const char* text) { return HelpLine{std::to_string(code), text}; };
    return {
        line(to_int(ExitCode::ok), "fine, or stopped as asked"),
        line(exit_failed, "the thing failed, or is not well"),
        line(to_int(ExitCode::usage), "a bad flag or command"),
        line(to_int(ExitCode::damaged_store), "the store is damaged, foreign or too new"),
        line(to_int(ExitCode::unavailable), "no daemon answers, or a port cannot be opened"),
        line(to_int(ExitCode::internal), "our own failure"),
        line(to_int(ExitCode::store_in_use), "another process holds the store"),
        line(to_int(ExitCode::io), "a disk or a file failed"),
        line(exit_not_allowed, "the daemon does not allow it: the admin token is missing or wrong"),
        line(to_int(ExitCode::config), "the config is wrong, or not safe to serve with"),
    };
}

}  // namespace

Program whole_program() {
    // The two that print what all commands are hold the list by a pointer of their own: filled once all are known.
    const auto all = std::make_shared<Program>();
    const auto known = [all]() -> const Program& { return *all; };
    Program program{"muster", std::string(version()), about, examples(), environment(), exit_codes(), {}};
    program.commands = {
        serve_command(),    demo_command(),     status_command(),          top_command(),      servers_command(),
        server_command(),   drain_command(),    undrain_command(),         regions_command(),  matchmakers_command(),
        matches_command(),  allocate_command(), abort_command(),           players_command(),  kick_command(),
        clock_command(),    events_command(),   config_command(),          protocol_command(), player_token_command(),
        simulate_command(), bench_command(),    completion_command(known), man_command(known),
    };
    *all = program;
    for (Command& command : all->commands) command.run = {};  // they would hold themselves
    return program;
}

}  // namespace muster
