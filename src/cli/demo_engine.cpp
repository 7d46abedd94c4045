#include "cli/demo_engine.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "base/entropy.h"
#include "cli/command.h"
#include "process/exit_code.h"

namespace muster {
namespace {

constexpr std::chrono::seconds engine_patience{60};
constexpr std::chrono::milliseconds engine_look_every{100};

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

void give_to_its_user(const std::filesystem::path& folder) {
    if (geteuid() != 0) return;
    const passwd* user = getpwnam("postgres");
    if (!user || chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0)
        throw CommandFailure(exit_failed, "the folder of the demo's PostgreSQL cannot be given to its user");
}

}  // namespace

std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::unique_ptr<ChildProcess> begin_logged(std::vector<std::string> command, const std::filesystem::path& log,
                                           std::map<std::string, std::string> environment) {
    const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    auto process = std::make_unique<ChildProcess>(ChildProcess::Plan{
        .command = std::move(command), .environment = std::move(environment), .clean = true, .output = output});
    close(output);
    return process;
}

DemoEngine::DemoEngine(const std::filesystem::path& folder, const std::function<bool()>& goes_on)
    : programs_(engine_programs()), folder_(folder / "postgresql"), log_(folder / "postgresql.log") {
    std::filesystem::create_directory(folder_);
    if (geteuid() == 0)
        std::filesystem::permissions(folder, std::filesystem::perms::others_exec, std::filesystem::perm_options::add);
    give_to_its_user(folder_);
    make_primary();
    if (!wait_until(asks_whether_ready(primary_), goes_on)) return;
    make_standby();
    if (!wait_until(asks_whether_ready(standby_), goes_on)) return;
    // From now on nothing is committed before the standby has it.
    std::ofstream(primary_data() / "postgresql.auto.conf", std::ios::app) << "synchronous_standby_names = '*'\n";
    run({program("pg_ctl"), "reload", "-D", primary_data().string()}, "pg_ctl reload");
    static_cast<void>(wait_until(asks_whether_followed(), goes_on));
}

void DemoEngine::make_primary() {
    run({program("initdb"), "-D", primary_data().string(), "-U", "muster", "-A", "trust", "--no-sync", "-E", "UTF8",
         "--locale=C"},
        "initdb");
    start(primary_, primary_data());
}

void DemoEngine::make_standby() {
    run({program("pg_basebackup"), "-h", "127.0.0.1", "-p", fmt::to_string(primary_.port), "-U", "muster", "-D",
         standby_data().string(), "-R", "-c", "fast", "--no-sync"},
        "pg_basebackup");
    start(standby_, standby_data());
}

void DemoEngine::start(Server& server, const std::filesystem::path& data) {
    server.port = engine_port();
    server.process =
        begin_logged(as_its_user({program("postgres"), "-D", data.string(), "-c", fmt::format("port={}", server.port),
                                  "-c", "listen_addresses=127.0.0.1", "-c",
                                  "unix_socket_directories=" + folder_.string(), "-c", "shared_buffers=16MB"}),
                     log_);
}

bool DemoEngine::wait_until(const std::vector<std::string>& command, const std::function<bool()>& goes_on) {
    const auto until = std::chrono::steady_clock::now() + engine_patience;
    while (goes_on()) {
        if (begin_logged(command, log_)->wait() == 0) return true;
        const bool is_alive = primary_.process->running() && (!standby_.process || standby_.process->running());
        if (!is_alive || std::chrono::steady_clock::now() > until)
            throw CommandFailure(exit_failed, "the demo's PostgreSQL did not start:\n" + content_of(log_));
        std::this_thread::sleep_for(engine_look_every);
    }
    return false;
}

std::vector<std::string> DemoEngine::asks_whether_ready(const Server& server) const {
    return {program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", fmt::to_string(server.port)};
}

// Fails, by dividing by zero, until the setting holds for new connections and the standby follows.
std::vector<std::string> DemoEngine::asks_whether_followed() const {
    constexpr const char* question =
        "SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND"
        " current_setting('synchronous_standby_names') = '*'";
    return {program("psql"), "-h",  "127.0.0.1", "-p", fmt::to_string(primary_.port), "-U", "muster", "-d",
            "postgres",      "-qc", question};
}

void DemoEngine::run(std::vector<std::string> command, const char* what) {
    if (begin_logged(as_its_user(std::move(command)), log_)->wait() != 0)
        throw CommandFailure(exit_failed, fmt::format("PostgreSQL's {} failed:\n{}", what, content_of(log_)));
}

std::string DemoEngine::url() const {
    return fmt::format("postgresql://muster@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
                       primary_.port, standby_.port);
}

}  // namespace muster
