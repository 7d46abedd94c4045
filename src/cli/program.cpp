#include "cli/program.h"

#include <memory>

#include "cli/commands.h"
#include "daemon/version.h"

namespace muster {
namespace {

constexpr const char* about =
    "Muster keeps an online game's fleet honest: it knows which game servers live, hands each match to the best one,\n"
    "lets players in and keeps everyone on one clock.";

constexpr const char* notes = R"(Examples:
  muster demo                               see it alive, with a fleet that plays
  muster config --default > muster.toml     write a config to start from
  muster serve --config muster.toml         run with it, in the foreground
  MUSTER_LOG_LEVEL=debug muster serve       run on the defaults but for one key
  muster status                             whether the whole is well; top keeps looking
  muster servers --region EU --sort load    the fullest servers of a region
  muster events --follow --type match.      what happens to matches, as it happens

Environment, for the commands that ask a daemon:
  MUSTER_URL            where it is; http://127.0.0.1:11030 when not set
  MUSTER_ADMIN_TOKEN    its admin token, where it asks for one
  NO_COLOR              no colours, even on a terminal

Exit codes:
  0 fine, or stopped as asked   1 the thing failed, or is not well   64 bad flag or command   65 store damaged
  69 daemon not reachable, or port cannot be opened   70 internal error   73 store in use   74 disk failed
  77 not allowed                78 config wrong or not safe to serve with
)";

}  // namespace

Program whole_program() {
    // The two that print what all commands are hold the list by a pointer of their own: filled once all are known.
    const auto all = std::make_shared<Program>();
    const auto known = [all]() -> const Program& { return *all; };
    Program program{"muster", std::string(version()), about, notes, {}};
    program.commands = {
        serve_command(),    demo_command(),     status_command(),          top_command(),      servers_command(),
        server_command(),   drain_command(),    undrain_command(),         regions_command(),  managers_command(),
        matches_command(),  allocate_command(), abort_command(),           players_command(),  kick_command(),
        clock_command(),    events_command(),   config_command(),          protocol_command(), player_token_command(),
        simulate_command(), bench_command(),    completion_command(known), man_command(known),
    };
    *all = program;
    for (Command& command : all->commands) command.run = {};  // they would hold themselves
    return program;
}

}  // namespace muster
