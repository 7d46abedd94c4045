// A command of the program as plain data: its flags, its help, and what it does. The parser, the help, the completion
// and the man page are all made from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace muster {

// On top of ExitCode, for the commands that ask a daemon.
inline constexpr int exit_failed = 1;        // command failed, or daemon unhealthy
inline constexpr int exit_not_allowed = 77;  // the daemon will not have it from us

// Ends a command: `what()` goes to standard error, `exit_code` to the shell.
class CommandFailure : public std::runtime_error {
public:
    CommandFailure(int code, const std::string& what) : std::runtime_error(what), exit_code(code) {}
    int exit_code;
};

struct CommandOption {
    // Where the value goes; bool is a flag without one. Outlived by what the command's `run` holds.
    using Target =
        std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*,
                     std::vector<std::int64_t>*, std::int64_t*, std::optional<std::int64_t>*, std::optional<double>*>;

    std::string name;   // "--region", or "LOBBY" for an argument by its place
    std::string value;  // what stands for the value in the help; empty for a flag, and for a place but where its name
                        // says too little: "set [DAY HH:MM]"
    std::string help;
    Target target;
    bool required = false;
    std::vector<std::string> choices{};   // all that is allowed; empty: anything
    std::vector<std::string> excludes{};  // flags of the same command that cannot be given with it
    bool is_file = false;                 // the completion offers files
    bool required_or_other = false;       // required, unless a flag that excludes it is given; the command checks it

    bool is_place() const { return !name.starts_with('-'); }
    bool takes_many() const {
        return std::holds_alternative<std::vector<std::string>*>(target) ||
               std::holds_alternative<std::vector<std::int64_t>*>(target);
    }
    bool is_flag() const { return std::holds_alternative<bool*>(target); }
};

struct Command {
    std::string name;
    std::string summary;
    std::vector<CommandOption> options{};
    std::string notes{};         // what the help says after the flags
    std::function<int()> run{};  // the exit code; throws CommandFailure
    bool takes_reload = false;   // SIGHUP is a wish to reload; of other commands it is the end
};

// A line of a list: what it is about, and what is said of it.
struct HelpLine {
    std::string about;
    std::string text;
};

// What `muster --help` says around the list of commands.
struct Program {
    std::string name;
    std::string version;
    std::string about;
    std::vector<HelpLine> examples;
    std::vector<HelpLine> environment;
    std::vector<HelpLine> exit_codes;
    std::vector<Command> commands;
};

}  // namespace muster
