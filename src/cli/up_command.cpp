// `muster up -- COMMAND`: the daemon and an agent that runs COMMAND, in one go (G-2).
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/agent_config.h"
#include "agent/folder_lock.h"
#include "agent/proc.h"
#include "base/json_fields.h"
#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/json_value.h"
#include "cli/listing.h"
#include "cli/own_certificates.h"
#include "cli/progress.h"
#include "config/config.h"
#include "process/exit_code.h"
#include "process/log_output.h"
#include "process/signals.h"

namespace muster {
namespace {

constexpr std::chrono::seconds up_start_patience{30};
constexpr std::chrono::milliseconds up_look_every{50};
// An earlier command that was killed ends its servers in this time, unless they have matches.
constexpr std::chrono::seconds lock_patience{3};

struct UpArguments {
    std::int64_t count = 1;
    std::string ports = "7000-7999";
    std::string sdk = "none";
    std::string region = "USE";
    std::string folder = "muster-up";
    bool tls = false;
    std::vector<std::string> command;
};

std::string whole_text_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

// The daemon that is started here has the default regions.
std::int64_t region_of(const UpArguments& arguments) {
    try {
        return RegionNames(Config{}).id(arguments.region);
    } catch (const CommandFailure& unknown) {
        throw CommandFailure(to_int(ExitCode::usage), fmt::format("--region: {}", unknown.what()));
    }
}

// The agent's config, as one would write it oneself.
std::string agent_config(const UpArguments& arguments, const std::filesystem::path& folder, const std::string& join) {
    std::vector<std::string> words;
    words.reserve(arguments.command.size());
    for (const std::string& word : arguments.command) words.push_back(json_quoted(word));
    return fmt::format(
        "# Written by `muster up`. `muster agent --config` takes it as well.\n"
        "[agent]\njoin = [{}]\nregion = {}\nports = {}\nstate = {}\n\n"
        "[[run]]\nname = \"server\"\ncommand = [{}]\ndirectory = {}\ncount = {}\nsdk = {}\n",
        json_quoted(join), region_of(arguments), json_quoted(arguments.ports), json_quoted((folder / "agent").string()),
        fmt::join(words, ", "), json_quoted(std::filesystem::current_path().string()), arguments.count,
        json_quoted(arguments.sdk));
}

// What the environment says of the daemon; of what it does not say, the ports are the defaults when nobody has them,
// else any free ones. Secrets are not handed on: the agent beside it has none.
std::map<std::string, std::string> daemon_environment(const std::filesystem::path& folder) {
    const Config::Listen usual;
    const std::pair<const char*, ListenAddress> all[] = {{"MUSTER_LISTEN_SERVERS", usual.servers},
                                                         {"MUSTER_LISTEN_MATCHMAKERS", usual.matchmakers},
                                                         {"MUSTER_LISTEN_PLAYERS", usual.players},
                                                         {"MUSTER_LISTEN_HTTP", usual.http}};
    std::map<std::string, std::string> environment;
    for (const auto& [name, value] : process_environment()) {
        for (const std::string_view section : {"LISTEN", "GAME", "FLEET", "MATCHMAKERS", "PLAYERS", "CLOCK", "LIMITS",
                                               "HTTP", "NET", "STORE", "SHUTDOWN", "LOG"}) {
            if (name.starts_with("MUSTER_" + std::string(section) + "_"))
                environment[std::string(name)] = std::string(value);
        }
    }
    if (!environment.contains("MUSTER_STORE_URL"))
        environment.try_emplace("MUSTER_STORE_PATH", (folder / "muster.db").string());
    for (const auto& [name, address] : all) {
        if (!environment.contains(name))
            environment[name] = port_is_free(address.port) ? address.to_string() : "127.0.0.1:0";
    }
    return environment;
}

std::unique_ptr<ChildProcess> start_daemon(const std::filesystem::path& folder,
                                           const std::map<std::string, std::string>& tls) {
    auto environment = daemon_environment(folder);
    environment.insert(tls.begin(), tls.end());
    const std::filesystem::path log_file = folder / "daemon.log";
    const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0) throw CommandFailure(to_int(ExitCode::io), "cannot write " + log_file.string());
    auto daemon = std::make_unique<ChildProcess>(
        ChildProcess::Plan{.command = {own_path(), "serve", "--ports-file", (folder / "ports.json").string()},
                           .environment = std::move(environment),
                           .clean = true,
                           .output = log,
                           .own_group = true});
    close(log);
    return daemon;
}

// None when the end was asked for meanwhile.
std::optional<JsonValue> wait_for_daemon(ChildProcess& daemon, const std::filesystem::path& folder, Signals& signals) {
    const Progress progress("starting the daemon");
    const auto until = std::chrono::steady_clock::now() + up_start_patience;
    while (!std::filesystem::exists(folder / "ports.json")) {
        if (signals.wait(up_look_every)) return std::nullopt;  // Ctrl-C, or a terminal that is gone
        const bool runs = daemon.running();
        if (!runs || std::chrono::steady_clock::now() > until)
            throw CommandFailure(runs ? exit_failed : daemon.wait(),
                                 "the daemon did not start:\n" + whole_text_of(folder / "daemon.log"));
    }
    return JsonValue::parse(whole_text_of(folder / "ports.json")).value_or(JsonValue());
}

std::string announcement(const UpArguments& arguments, const std::filesystem::path& folder, const JsonValue& ports,
                         const std::string& ca_file) {
    const std::string url = fmt::format("{}://{}", arguments.tls ? "https" : "http", ports["http"].text());
    const bool usual = !arguments.tls && ports["http"].text() == Config{}.listen.http.to_string();
    std::string where = usual ? "" : fmt::format("MUSTER_URL={} ", url);
    if (arguments.tls) where += fmt::format("MUSTER_CA_FILE={} ", ca_file);
    return fmt::format(
        "Muster is running, and with it {} × {}\n\n"
        "  the page             {}/\n"
        "  in another terminal  {}{} servers\n"
        "  logs and config      {}\n\n"
        "Ctrl-C ends all of it.",
        arguments.count, fmt::join(arguments.command, " "), url, where, own_path(), folder.string());
}

// The exit code, once the agent has ended: by itself, or since it was told to. One that was killed is started again: it
// goes on with its servers. `announcement` is said once it runs: a command that is not there ends the agent before
// anything was promised. `output` waits for no reader.
int watch(const std::function<std::unique_ptr<ChildProcess>()>& start_agent, ChildProcess& daemon,
          const std::filesystem::path& folder, Signals& signals, LogOutput& output, const std::string& announcement) {
    constexpr std::chrono::milliseconds refusal_time{200};
    constexpr int starts_max = 10;
    constexpr int killed = 128;  // and the signal's number
    auto agent = start_agent();
    auto sure = std::chrono::steady_clock::now() + refusal_time;
    bool told = false;
    bool is_announced = false;
    bool tell_again = false;  // one that was started again after the first was told
    for (int starts = 1;;) {
        if (!agent->running()) {
            const int code = agent->wait();
            const bool is_over = code <= killed || !is_announced;
            if (is_over || starts == starts_max) {
                const bool left = code > killed;
                if (left)
                    output.print("The agent was killed; servers that still run end with the next `muster up` here.");
                if (!left && (told || is_announced)) output.print("All servers and the daemon have ended.");
                return told && !left ? 0 : (left ? exit_failed : code);
            }
            output.print(fmt::format("The agent was killed (signal {}). It starts again and goes on with its servers.",
                                     code - killed));
            agent = start_agent();
            ++starts;
            sure = std::chrono::steady_clock::now() + refusal_time;
            tell_again = told;
        }
        const auto signal = signals.wait(up_look_every);
        // A terminal that goes may tell so twice, by its shell and by the kernel: that ends no match.
        if (signal == Signal::stop || (signal == Signal::reload && !told)) {
            output.print(told ? "\nEnding the servers at once."
                              : "\nEnding the servers, their matches first; Ctrl-C again does not wait for them.");
            agent->signal(SIGINT);
            told = true;
        }
        if (tell_again && std::chrono::steady_clock::now() >= sure) {
            agent->signal(SIGINT);
            tell_again = false;
        }
        if (!told && !is_announced && std::chrono::steady_clock::now() >= sure) {
            output.print(announcement);
            is_announced = true;
        }
        if (!told && !daemon.running()) {
            agent->signal(SIGINT);
            agent->wait();
            throw CommandFailure(exit_failed, "the daemon has ended:\n" + whole_text_of(folder / "daemon.log"));
        }
    }
}

void check(const UpArguments& arguments) {
    const auto refuse = [](const std::string& why) { throw CommandFailure(to_int(ExitCode::usage), why); };
    if (arguments.command.empty()) refuse("give the command after --, such as: muster up -- ./server -port {port}");
    if (arguments.count < 1 || arguments.count > 1000) refuse("--count wants a whole number from 1 to 1000");
    if (arguments.folder.empty()) refuse("--folder wants the path of a folder");
    region_of(arguments);
    const auto range = parse_port_range(arguments.ports);
    if (!range) refuse("--ports wants a range from 1024 to 65535, such as 7000-7999");
    if (range->size() < static_cast<std::size_t>(arguments.count))
        refuse("--ports has fewer ports than --count servers");
    const std::string& program = arguments.command.front();
    if (const auto problem = problem_of_program(program, std::filesystem::current_path())) refuse(*problem);
}

// One command at a time in that folder. Fails with who has it, and how to end that.
FolderLock occupy(const std::filesystem::path& folder) {
    const std::filesystem::path agents = folder / "agent";
    std::error_code error;
    std::filesystem::create_directories(agents, error);
    auto lock = FolderLock::take(folder, Duration::zero());
    if (!lock && !lock.error().in_use)
        throw CommandFailure(to_int(ExitCode::io), fmt::format("cannot use {}: {}", folder.string(), lock.error().why));
    const auto how_to_end = [](const FolderLock::Refusal& refusal, const char* kill) {
        return refusal.holder ? fmt::format("; `{} {}` ends it", kill, *refusal.holder) : std::string();
    };
    if (!lock)
        throw CommandFailure(to_int(ExitCode::in_use), fmt::format("{} uses {}{}, or give this one another --folder",
                                                                   with_pid("another `muster up`", lock.error().holder),
                                                                   folder.string(), how_to_end(lock.error(), "kill")));
    const auto agent = FolderLock::take(agents, lock_patience);
    if (!agent && agent.error().in_use)
        throw CommandFailure(
            to_int(ExitCode::in_use),
            fmt::format("{} still uses {}. If an earlier `muster up` was killed, it waits for its matches to end{}",
                        with_pid("an agent", agent.error().holder), agents.string(),
                        how_to_end(agent.error(), "kill -INT")));
    return std::move(*lock);
}

int up(const UpArguments& arguments) {
    check(arguments);
    const std::filesystem::path folder = std::filesystem::absolute(arguments.folder);
    const FolderLock lock = occupy(folder);
    std::error_code error;
    std::filesystem::remove(folder / "ports.json", error);

    Signals signals;
    LogOutput output(STDOUT_FILENO, {});
    // In this order: whatever happens, the agent and its servers end first, then the daemon.
    const OwnCertificates certificates = arguments.tls ? own_certificates(folder / "pki") : OwnCertificates();
    const auto daemon = start_daemon(folder, certificates.daemon);
    const auto ports = wait_for_daemon(*daemon, folder, signals);
    if (!ports) return 0;
    const std::filesystem::path config = folder / "agent.toml";
    const std::string join =
        std::string(arguments.tls ? "muster-tls://" : "") + std::string((*ports)["servers"].text());
    std::ofstream(config) << agent_config(arguments, folder, join);
    std::map<std::string, std::string> trust;
    if (arguments.tls) trust["MUSTER_CA_FILE"] = certificates.ca_file;
    const auto start_agent = [&] {
        return std::make_unique<ChildProcess>(
            ChildProcess::Plan{.command = {own_path(), "agent", "--config", config.string(), "--ends-all"},
                               .environment = trust,
                               .clean = true,
                               .output = -1,
                               .own_group = true});
    };
    return watch(start_agent, *daemon, folder, signals, output,
                 announcement(arguments, folder, *ports, certificates.ca_file));
}

}  // namespace

Command up_command() {
    const auto arguments = std::make_shared<UpArguments>();
    CommandOption command{"COMMAND", "-- COMMAND…", "The game server, after --; {port} stands for its port",
                          &arguments->command};
    command.required_or_other = true;
    return {
        "up",
        "Run the daemon and your game server, in one command",
        {{"--count", "N", "Number of game servers", &arguments->count},
         {"--ports", "A-B", "Range of ports; each game server gets one of them", &arguments->ports},
         {"--sdk",
          "KIND",
          "SDK that the game server uses, if any",
          &arguments->sdk,
          false,
          {"none", "muster", "agones", "gsdk"}},
         {"--region", "REGION", "Region of the game servers, by name or number", &arguments->region},
         {"--folder", "FOLDER", "Folder for logs, config and store", &arguments->folder},
         {"--tls", "", "Speak TLS on all ports; certificates are made in the folder when they are missing",
          &arguments->tls},
         command},
        "    muster up --count 8 -- ./server -port {port}\n\n"
        "Each server gets a port of its own: in the variable PORT, and in place of {port}. It is registered once it "
        "has\n"
        "bound that port, and restarted when it ends. Ctrl-C waits for the matches, then ends the servers and the\n"
        "daemon; so does closing the terminal. A second Ctrl-C does not wait. When this command is killed, the daemon "
        "ends\n"
        "at once and the servers after their matches.\n\n"
        "The folder has agent.toml, which `muster agent --config` takes too.\n",
        [arguments] { return up(*arguments); }};
}

}  // namespace muster
