#include "cli/demo_nodes.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "base/entropy.h"
#include "base/json_fields.h"
#include "cli/command.h"
#include "cli/json_value.h"
#include "process/exit_code.h"

namespace muster {
namespace {

constexpr std::chrono::seconds engine_patience{60};
constexpr std::chrono::milliseconds engine_look_every{100};
constexpr std::array node_names{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
static_assert(node_names.size() == DemoNodes::count_max);

// Where Debian keeps the newest version's programs.
std::filesystem::path engine_programs() {
    std::filesystem::path newest;
    int newest_version = 0;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
        const int version = std::atoi(entry.path().filename().c_str());
        if (version <= newest_version || !std::filesystem::exists(entry.path() / "bin" / "initdb")) continue;
        newest_version = version;
        newest = entry.path() / "bin";
    }
    if (newest.empty())
        throw CommandFailure(to_int(ExitCode::unavailable),
                             "--nodes needs PostgreSQL's own programs, and they are not here; `apt install postgresql` "
                             "brings them (a database that runs already is neither needed nor touched)");
    return newest;
}

// The engine refuses to be root's: then it is that of the package's own user.
std::vector<std::string> as_its_user(std::vector<std::string> command) {
    if (geteuid() != 0) return command;
    std::vector<std::string> all{"/usr/sbin/runuser", "-u", "postgres", "--"};
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

bool may_listen(std::uint16_t port) {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    return free;
}

// Below those that the kernel gives to others in passing.
std::uint16_t engine_port() {
    SystemEntropy entropy;
    for (int tried = 0; tried < 200; ++tried) {
        std::uint16_t number = 0;
        entropy.fill(std::as_writable_bytes(std::span(&number, 1)));
        const auto port = static_cast<std::uint16_t>(20'000 + number % 12'000);
        if (may_listen(port)) return port;
    }
    throw CommandFailure(exit_failed, "no free port for the demo's PostgreSQL");
}

std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::unique_ptr<ChildProcess> begun(std::vector<std::string> command, const std::filesystem::path& log,
                                    std::map<std::string, std::string> environment = {}) {
    const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    auto process = std::make_unique<ChildProcess>(ChildProcess::Plan{
        .command = std::move(command), .environment = std::move(environment), .clean = true, .output = output});
    close(output);
    return process;
}

void give_to_its_user(const std::filesystem::path& folder) {
    if (geteuid() != 0) return;
    const passwd* user = getpwnam("postgres");
    if (!user || chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0)
        throw CommandFailure(exit_failed, "the folder of the demo's PostgreSQL cannot be given to its user");
}

}  // namespace

DemoEngine::DemoEngine(const std::filesystem::path& folder, const std::function<bool()>& goes_on)
    : folder_(folder / "postgresql"), port_(engine_port()) {
    const std::filesystem::path programs = engine_programs();
    const std::filesystem::path log = folder / "postgresql.log";
    std::filesystem::create_directory(folder_);
    if (geteuid() == 0)
        std::filesystem::permissions(folder, std::filesystem::perms::others_exec, std::filesystem::perm_options::add);
    give_to_its_user(folder_);
    const std::string data = (folder_ / "data").string();
    auto made = begun(as_its_user({(programs / "initdb").string(), "-D", data, "-U", "muster", "-A", "trust",
                                   "--no-sync", "-E", "UTF8", "--locale=C"}),
                      log);
    if (made->wait() != 0) throw CommandFailure(exit_failed, "PostgreSQL's initdb failed:\n" + content_of(log));
    process_ = begun(as_its_user({(programs / "postgres").string(), "-D", data, "-c", fmt::format("port={}", port_),
                                  "-c", "listen_addresses=127.0.0.1", "-c",
                                  "unix_socket_directories=" + folder_.string(), "-c", "shared_buffers=16MB"}),
                     log);
    const auto until = std::chrono::steady_clock::now() + engine_patience;
    while (goes_on()) {
        auto asked =
            begun({(programs / "pg_isready").string(), "-q", "-h", "127.0.0.1", "-p", fmt::to_string(port_)}, log);
        if (asked->wait() == 0) return;
        if (!process_->running() || std::chrono::steady_clock::now() > until)
            throw CommandFailure(exit_failed, "the demo's PostgreSQL did not start:\n" + content_of(log));
        std::this_thread::sleep_for(engine_look_every);
    }
}

DemoEngine::~DemoEngine() = default;

std::string DemoEngine::url() const {
    return fmt::format("postgresql://muster@127.0.0.1:{}/postgres", port_);
}

DemoNodes::DemoNodes(const std::filesystem::path& folder, std::map<std::string, std::string> config, std::size_t count,
                     const std::string& url) {
    config.erase("MUSTER_STORE_PATH");
    config["MUSTER_STORE_URL"] = url;
    config["MUSTER_CLUSTER_LISTEN"] = "127.0.0.1:0";
    config["MUSTER_CLUSTER_SILENCE"] = "3s";
    nodes_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        Node& node = nodes_[i];
        node.name = node_names[i];
        node.folder = folder / node.name;
        std::filesystem::create_directory(node.folder);
        node.config = config;
        node.config["MUSTER_CLUSTER_NODE"] = node.name;
        if (i > 0) node.config["MUSTER_LISTEN_HTTP"] = "127.0.0.1:0";
        start(node);
    }
}

void DemoNodes::start(Node& node) {
    std::error_code none;
    std::filesystem::remove(node.folder / "ports.json", none);
    node.is_away = false;
    node.process = begun({own_path(), "serve", "--ports-file", (node.folder / "ports.json").string()},
                         node.folder / "log.txt", node.config);
}

bool DemoNodes::has_ports(Node& node) {
    const auto ports = JsonValue::parse(content_of(node.folder / "ports.json"));
    if (!ports || (*ports)["servers"].is_null()) return false;
    const auto keep = [&](std::string& address, const char* port, const char* key) {
        address = (*ports)[port].text();
        node.config[key] = address;  // it comes back to the same place
    };
    keep(node.servers, "servers", "MUSTER_LISTEN_SERVERS");
    keep(node.matchmakers, "matchmakers", "MUSTER_LISTEN_MATCHMAKERS");
    keep(node.players, "players", "MUSTER_LISTEN_PLAYERS");
    keep(node.http, "http", "MUSTER_LISTEN_HTTP");
    return true;
}

bool DemoNodes::wait_until_ready(const std::function<bool()>& goes_on) {
    const auto until = std::chrono::steady_clock::now() + engine_patience;
    for (Node& node : nodes_) {
        while (!has_ports(node)) {
            if (!goes_on()) return false;
            if (!node.process->running() || std::chrono::steady_clock::now() > until)
                throw CommandFailure(exit_failed, fmt::format("node {} did not start:\n{}", node.name,
                                                              content_of(node.folder / "log.txt")));
            std::this_thread::sleep_for(engine_look_every);
        }
    }
    return true;
}

DemoPorts DemoNodes::ports() const {
    DemoPorts all;
    const auto add = [](std::string& to, const std::string& address) { to += (to.empty() ? "" : ",") + address; };
    for (const Node& node : nodes_) {
        add(all.servers, node.servers);
        add(all.matchmakers, node.matchmakers);
        add(all.players, node.players);
    }
    return all;
}

std::string DemoNodes::listed() const {
    std::string lines;
    for (const Node& node : nodes_)
        lines +=
            fmt::format("  node {:<6} http://{}/#/cluster   kill -9 {}\n", node.name, node.http, node.process->pid());
    return lines;
}

std::string DemoNodes::listed_json() const {
    JsonFields out;
    out.begin_list("nodes");
    for (const Node& node : nodes_) {
        out.begin_object({});
        out.text("name", node.name);
        out.text("url", "http://" + node.http);
        out.integer("pid", node.process->pid());
        out.end_object();
    }
    out.end_list();
    out.text("url", first_url());
    return out.finish();
}

std::string DemoNodes::look_after() {
    std::string news;
    const auto now = std::chrono::steady_clock::now();
    for (Node& node : nodes_) {
        if (node.is_away && now - node.ended >= away) {
            start(node);
            news += fmt::format("node {} starts again; kill -9 {}\n", node.name, node.process->pid());
        } else if (!node.is_away && !node.process->running()) {
            node.is_away = true;
            node.ended = now;
            news += fmt::format("node {} has ended; it starts again in {} s\n", node.name, away.count());
        }
    }
    return news;
}

}  // namespace muster
