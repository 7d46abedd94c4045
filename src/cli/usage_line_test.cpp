#include "cli/usage_line.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "cli/program.h"
#include "cli/terminal.h"

namespace muster {
namespace {

const Command& named(const Program& program, std::string_view name) {
    for (const Command& command : program.commands)
        if (command.name == name) return command;
    FAIL("no command ", name);
    return program.commands.front();
}

}  // namespace

TEST_CASE("O-3: a usage line names the arguments, what may stand in their place, and every flag") {
    const Program program = whole_program();
    CHECK(usage_line(named(program, "drain")) ==
          "muster drain (ID… | --region REGION | --address IP[:PORT] | --host NAME) [--reason TEXT] [--json]");
    CHECK(usage_line(named(program, "remove")) == "muster remove ID… [--reason TEXT] [--json]");
    CHECK(usage_line(named(program, "abort")) == "muster abort (LOBBY | --server ID) [--reason TEXT] [--json]");
    CHECK(usage_line(named(program, "clock")) == "muster clock [set [DAY HH:MM]] [--speed N] [--json]");
    CHECK(usage_line(named(program, "completion")) == "muster completion bash|zsh|fish");
    CHECK(usage_line(named(program, "player-token")) ==
          "muster player-token NAME --account N [--for TIME] [--config FILE] [--json]");
    CHECK(usage_line(named(program, "certs")).starts_with("muster certs init|issue|renew|show WHERE… "));
    CHECK(usage_line(named(program, "up")).ends_with(" [--folder FOLDER] [--tls]\n    -- COMMAND…"));
    CHECK(usage_line(named(program, "bench"))
              .starts_with("muster bench [WORKLOAD | --list] [WORKLOAD… | -- ARGUMENT…] "));
    CHECK(usage_line(named(program, "man")) == "muster man");
}

TEST_CASE("O-3: a long usage line is broken between its parts, and no flag with a value lacks its name") {
    for (const Command& command : whole_program().commands) {
        const std::string text = usage_line(command);
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            CHECK(shown_width(text.substr(begin, end - begin)) <= 100);
            begin = end + 1;
        }
        for (const CommandOption& option : command.options) {
            CAPTURE(command.name);
            CAPTURE(option.name);
            CHECK((option.is_place() || option.is_flag() || !option.value.empty()));
        }
    }
}

}  // namespace muster
