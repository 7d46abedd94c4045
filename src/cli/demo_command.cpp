// `muster demo`: the real daemon with a lively fleet, gone without a trace when it ends.
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/entropy.h"
#include "base/json_fields.h"
#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/demo_engine.h"
#include "cli/demo_fleet.h"
#include "cli/demo_nodes.h"
#include "cli/json_value.h"
#include "cli/listing.h"
#include "cli/own_certificates.h"
#include "cli/progress.h"
#include "cli/standard_output.h"
#include "config/config.h"
#include "config/config_units.h"
#include "process/exit_code.h"

namespace muster {
namespace {

// Where the other commands look for a daemon; taken by the demo when nobody else has it.
ListenAddress usual_http() {
    return Config{}.listen.http;
}
constexpr const char* any_http = "127.0.0.1:0";

constexpr std::chrono::seconds demo_start_patience{30};
constexpr std::chrono::milliseconds demo_look_every{20};

struct DemoArguments {
    std::optional<double> seconds;
    std::optional<std::int64_t> seed;
    std::optional<std::string> http;
    std::optional<std::int64_t> nodes;
    bool tls = false;
    bool json = false;
};

// A new folder that goes with its object.
class ScratchFolder {
public:
    ScratchFolder() {
        std::string form = (std::filesystem::temp_directory_path() / "muster-demo-XXXXXX").string();
        if (!mkdtemp(form.data())) throw CommandFailure(to_int(ExitCode::io), "cannot make a folder like " + form);
        path = form;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::filesystem::path path;
};

// Ctrl-C and SIGTERM are waited for instead of ending us on the spot; threads that begin later inherit that.
class AwaitedEnd {
public:
    AwaitedEnd() {
        sigemptyset(&signals_);
        for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, each);
        pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    }

    // True when it was asked for within `patience`.
    bool within(std::chrono::milliseconds patience) const {
        const timespec time{patience.count() / 1000, (patience.count() % 1000) * 1'000'000};
        return sigtimedwait(&signals_, nullptr, &time) > 0;
    }

private:
    sigset_t signals_{};
};

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::map<std::string, std::string> config_of(const DemoPace& pace, const ScratchFolder& folder,
                                             const std::string& http) {
    return {
        {"MUSTER_LISTEN_SERVERS", "127.0.0.1:0"},
        {"MUSTER_LISTEN_MATCHMAKERS", "127.0.0.1:0"},
        {"MUSTER_LISTEN_PLAYERS", "127.0.0.1:0"},
        {"MUSTER_LISTEN_HTTP", http},
        {"MUSTER_STORE_PATH", (folder.path / "muster.db").string()},
        {"MUSTER_FLEET_HEARTBEAT_INTERVAL", to_text(pace.heartbeat_interval)},
        {"MUSTER_FLEET_HEARTBEAT_TIMEOUT", to_text(pace.heartbeat_timeout)},
        {"MUSTER_PLAYERS_CREDENTIALS", "open"},
        {"MUSTER_PLAYERS_PING_INTERVAL", to_text(pace.ping_interval)},
        {"MUSTER_PLAYERS_PING_TIMEOUT", to_text(pace.ping_timeout)},
        {"MUSTER_PLAYERS_IDLE_AFTER", to_text(pace.idle_after)},
        {"MUSTER_PLAYERS_IDLE_KICK_AFTER", to_text(pace.idle_kick_after)},
        {"MUSTER_PLAYERS_RESUME_GRACE", to_text(pace.resume_grace)},
        {"MUSTER_CLOCK_SPEED", "60"},
    };
}

bool usual_port_is_free() {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;  // as the daemon does it: what a demo before us left behind is no hindrance
    setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(usual_http().port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free =
        bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(probe, 1) == 0;
    close(probe);
    return free;
}

// Certificates for this run: the daemon's, and the authority that the fleet and the commands trust.
std::map<std::string, std::string> make_certificates(const ScratchFolder& folder) {
    OwnCertificates made = own_certificates(folder.path / "pki");
    setenv("MUSTER_CA_FILE", made.ca_file.c_str(), 1);  // for the fleet; no thread runs yet
    return std::move(made.daemon);
}

std::unique_ptr<ChildProcess> launch(const DemoPace& pace, const ScratchFolder& folder, const std::string& http,
                                     const std::map<std::string, std::string>& tls) {
    auto config = config_of(pace, folder, http);
    config.insert(tls.begin(), tls.end());
    const int log = open((folder.path / "log.txt").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    auto daemon = std::make_unique<ChildProcess>(
        ChildProcess::Plan{.command = {own_path(), "serve", "--ports-file", (folder.path / "ports.json").string()},
                           .environment = std::move(config),
                           .clean = true,
                           .output = log});
    close(log);
    return daemon;
}

// Waits for the daemon to write where it listens. None when the end was asked for meanwhile.
std::optional<JsonValue> wait_until_ready(ChildProcess& daemon, const ScratchFolder& folder, const AwaitedEnd& end) {
    const std::filesystem::path ports = folder.path / "ports.json";
    const Progress progress("starting the daemon");
    const auto until = std::chrono::steady_clock::now() + demo_start_patience;
    while (!std::filesystem::exists(ports)) {
        if (end.within(demo_look_every)) return std::nullopt;
        if (!daemon.running() || std::chrono::steady_clock::now() > until)
            throw CommandFailure(exit_failed, "the daemon did not start:\n" + text_of(folder.path / "log.txt"));
    }
    return JsonValue::parse(text_of(ports)).value_or(JsonValue());
}

// Whether the other commands find it there as things are.
bool is_where_commands_look(const std::string& url) {
    const char* told = std::getenv("MUSTER_URL");
    return url == (told && *told != '\0' ? told : fmt::format("http://{}", usual_http().to_string()));
}

// Where it can be seen.
void announce(const DemoArguments& arguments, const JsonValue& ports) {
    const std::string url = fmt::format("{}://{}", arguments.tls ? "https" : "http", ports["http"].text());
    if (arguments.json) {
        JsonFields out;
        out.text("url", url);
        for (const char* port : {"servers", "matchmakers", "players"}) out.text(port, ports[port].text());
        if (arguments.tls) out.text("ca_file", std::getenv("MUSTER_CA_FILE"));
        print_json(out.finish());
        return;
    }
    std::string where = is_where_commands_look(url) ? "" : fmt::format("    export MUSTER_URL={}\n", url);
    if (arguments.tls) where += fmt::format("    export MUSTER_CA_FILE={}\n", std::getenv("MUSTER_CA_FILE"));
    const std::string until =
        arguments.seconds ? fmt::format("It stops after {} s.", *arguments.seconds) : std::string("Ctrl-C stops it.");
    print_result(
        fmt::format("Muster is running with a small simulated fleet.\n\n"
                    "  the page             {}/\n"
                    "  in another terminal\n{}"
                    "    {} top\n\n{}\n",
                    url, where, own_path(), until));
}

std::uint64_t seed_of(const DemoArguments& arguments) {
    std::uint64_t seed = 0;
    SystemEntropy().fill(std::as_writable_bytes(std::span(&seed, 1)));
    return arguments.seed ? static_cast<std::uint64_t>(*arguments.seed) : seed;
}

int play(const DemoArguments& arguments, const JsonValue& ports, const DemoPace& pace, ChildProcess& daemon,
         const ScratchFolder& folder, const AwaitedEnd& end) {
    const auto address = [&](const char* port) {
        return std::string(arguments.tls ? "muster-tls://" : "") + std::string(ports[port].text());
    };
    DemoFleet fleet({address("servers"), address("matchmakers"), address("players")}, pace, seed_of(arguments));
    fleet.start();

    announce(arguments, ports);
    const auto over = std::chrono::steady_clock::now() +
                      std::chrono::milliseconds(static_cast<std::int64_t>(arguments.seconds.value_or(0) * 1000));
    while (!arguments.seconds || std::chrono::steady_clock::now() < over) {
        constexpr std::chrono::milliseconds look_again{200};
        if (end.within(look_again)) return 0;
        if (!daemon.running())
            throw CommandFailure(exit_failed, "the daemon has ended:\n" + text_of(folder.path / "log.txt"));
    }
    return 0;
}

// Several nodes on a PostgreSQL of the demo's own: an invitation to kill one.
int run_nodes(const DemoArguments& arguments, const AwaitedEnd& end) {
    // In this order: whatever happens, the fleet leaves first, then the nodes end, then their database, then its
    // folder.
    const ScratchFolder folder;
    const DemoPace pace;
    bool is_over = false;
    const auto goes_on = [&] { return !(is_over = is_over || end.within(std::chrono::milliseconds(1))); };
    const DemoEngine engine(folder.path, goes_on);
    if (is_over) return 0;
    const bool usual = !arguments.http && usual_port_is_free();
    DemoNodes nodes(folder.path,
                    config_of(pace, folder, arguments.http.value_or(usual ? usual_http().to_string() : any_http)),
                    static_cast<std::size_t>(*arguments.nodes), engine.url());
    if (!nodes.wait_until_ready(goes_on)) return 0;
    DemoFleet fleet(nodes.ports(), pace, seed_of(arguments));
    fleet.start();

    if (arguments.json)
        print_json(nodes.listed_json());
    else
        print_result(
            fmt::format("Muster is running with a small simulated fleet, on {} nodes that share one PostgreSQL and "
                        "its standby.\n"
                        "The state is in three cells, each with one owner: america, europe, and people for players.\n\n"
                        "{}\n"
                        "  in another terminal\n    export MUSTER_URL={}\n    {} cluster\n    {} top\n\n"
                        "Kill any node and watch the others: within seconds its cell has another owner, with every\n"
                        "match that was promised, and the other cells notice nothing.\n\n",
                        *arguments.nodes, nodes.listed(), nodes.first_url(), own_path(), own_path()));
    const auto over = std::chrono::steady_clock::now() +
                      std::chrono::milliseconds(static_cast<std::int64_t>(arguments.seconds.value_or(0) * 1000));
    while (!arguments.seconds || std::chrono::steady_clock::now() < over) {
        if (end.within(std::chrono::milliseconds(200))) return 0;
        const std::string news = nodes.look_after();
        if (!news.empty() && !arguments.json) print_result(news);
    }
    return 0;
}

int run(const DemoArguments& arguments, const AwaitedEnd& end) {
    if (arguments.nodes) return run_nodes(arguments, end);
    // In this order: whatever happens, the fleet leaves first, then the daemon ends, then its folder goes.
    const ScratchFolder folder;
    const DemoPace pace;
    const bool usual = !arguments.http && usual_port_is_free();
    const auto tls = arguments.tls ? make_certificates(folder) : std::map<std::string, std::string>();
    auto daemon = launch(pace, folder, arguments.http.value_or(usual ? usual_http().to_string() : any_http), tls);
    std::optional<JsonValue> ports;
    try {
        ports = wait_until_ready(*daemon, folder, end);
    } catch (const CommandFailure&) {
        if (!usual) throw;
        // Somebody took the port just now.
        daemon = launch(pace, folder, any_http, tls);
        ports = wait_until_ready(*daemon, folder, end);
    }
    if (!ports) return 0;
    return play(arguments, *ports, pace, *daemon, folder, end);
}

int demo(const DemoArguments& arguments) {
    if (arguments.seconds && !(*arguments.seconds > 0 && *arguments.seconds < 1e9))
        throw CommandFailure(to_int(ExitCode::usage), "--seconds wants something above 0");
    if (arguments.nodes && (*arguments.nodes < 2 || *arguments.nodes > DemoNodes::count_max))
        throw CommandFailure(to_int(ExitCode::usage), fmt::format("--nodes wants 2 to {}", DemoNodes::count_max));
    if (arguments.nodes && arguments.tls)
        throw CommandFailure(to_int(ExitCode::usage), "--nodes and --tls do not go together");
    const AwaitedEnd end;
    const int code = run(arguments, end);
    if (!arguments.json) print_result("\nThe demo has stopped and removed its files.\n");
    return code;
}

}  // namespace

Command demo_command() {
    const auto arguments = std::make_shared<DemoArguments>();
    return {
        "demo",
        "Run the daemon with a small simulated fleet",
        {{"--seconds", "N", "Stop after N seconds", &arguments->seconds},
         {"--seed", "N", "Random seed, for a repeatable run", &arguments->seed},
         {"--http", "ADDRESS", "Address of the page and the API; default 127.0.0.1:11030, or a free port if taken",
          &arguments->http},
         {"--nodes", "N", "Run N nodes that share a PostgreSQL, made for this run", &arguments->nodes},
         {"--tls", "", "Speak TLS on all ports, with certificates made for this run", &arguments->tls},
         {"--json", "", "Print the addresses as one line of JSON", &arguments->json}},
        "Servers join, play matches, fall silent and come back; players log in, idle and leave. All of it runs on "
        "this\n"
        "machine with a temporary store, which is deleted at the end. Use the other commands as with any daemon; if\n"
        "the usual port is taken, the demo prints the MUSTER_URL that they need.\n",
        [arguments] { return demo(*arguments); }};
}

}  // namespace muster
