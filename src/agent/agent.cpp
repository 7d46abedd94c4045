#include "agent/agent.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "agent/agent_loop.h"
#include "agent/agent_tls.h"
#include "agent/life_mark.h"
#include "agent/metrics_port.h"
#include "agent/open_files_need.h"
#include "base/safe_text.h"
#include "base/system_clock.h"
#include "process/core_dumps.h"
#include "process/exit_code.h"
#include "process/log_output.h"
#include "process/open_files.h"
#include "process/service_manager.h"
#include "process/version.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

const char* search_path() {
    const char* path = std::getenv("PATH");
    return path ? path : "/usr/local/bin:/usr/bin:/bin";
}

// The signals of the agent, as a file to wait for. Made before any other thread, so that they are for nobody else.
class SignalFile {
public:
    SignalFile() {
        sigemptyset(&ours_);
        for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGCHLD}) sigaddset(&ours_, number);
        pthread_sigmask(SIG_BLOCK, &ours_, nullptr);
        for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
        file_ = FileDescriptor(signalfd(-1, &ours_, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!file_) throw std::runtime_error("no file for signals");
    }
    int number() const { return file_.number(); }
    // 0 when there is none left.
    int take() const {
        signalfd_siginfo info{};
        return read(file_.number(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
    }

private:
    sigset_t ours_{};
    FileDescriptor file_;
};

class Agent {
public:
    Agent(const AgentConfig& config, const AgentOptions& options, LogOutput& output, StateFolder folder, AgentTls tls,
          MetricsPort* metrics, std::size_t open_files)
        : config_(config),
          options_(options),
          open_files_(open_files),
          tls_(std::move(tls)),
          metrics_(metrics),
          log_(clock_, output),
          folder_(std::move(folder)),
          wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          epoll_(epoll_create1(EPOLL_CLOEXEC)),
          address_(address_of(config)),
          host_({config.name, config.region, config.join, token_of(config), search_path()}, folder_, log_),
          muster_({config.join, token_of(config), address_, config.region}, tls_, [this] { wake(); }),
          host_side_({token_of(config), config.name, address_, config.region, std::string(version())}, config.join,
                     muster_.runner(), tls_, [this] { wake(); }),
          sdk_server_({config.name, address_, config.region}, folder_, clock_, log_, [this] { wake(); }),
          loop_(config, clock_, log_, host_, folder_, muster_, host_side_, sdk_server_) {}

    int run(const SignalFile& signals) {
        for (const std::string& warning : options_.warnings) log_.warning("Config: {}", warning);
        log_.info("Agent {} of Muster {} starts", host_name_, version());
        if (!host_.cgroups().usable())
            log_.warning(
                "Without cgroups: {}. A process is ended by its group and what carries its id; its load is that "
                "of its main process",
                host_.cgroups().why_not());
        if (!host_.cgroups().usable() && !can_carry_marks())
            log_.warning(
                "This agent runs under a limit of real-time CPU (ulimit -R) and may not raise it: a process that hides "
                "its environment and leaves its group may outlive its end");
        if (metrics_) log_.info("Metrics are at port {}, /metrics", metrics_->port());
        warn_of_certificate();
        warn_of_open_files(config_);
        for (const int file : {wake_.number(), signals.number(), host_.events_fd()}) wait_for(file);
        loop_.begin();
        manager_.ready("running");
        while (!over_) {
            loop_.turn();
            log_.tell_held_back();
            publish_metrics();
            if (clock_.now() - certificate_looked_at_ >= 24h) warn_of_certificate();
            if (ending_ && loop_.all_ended()) break;
            wait();
            while (const int signal = signals.take()) take_signal(signal);
        }
        if (ending_) say_goodbye();
        muster_.close();
        log_.info("{}", ending_ ? "All processes have ended" : "The agent leaves; its processes run on");
        return to_int(ExitCode::ok);
    }

private:
    std::string token_of(const AgentConfig& config) {
        host_name_ = config.name;
        return config.server_token.is_set() ? std::string(config.server_token.first().reveal()) : std::string();
    }
    std::string address_of(const AgentConfig& config) {
        if (!config.address.empty()) return config.address;
        const auto found = local_address_towards(config.join.front());
        if (!found) log_.warning("No address towards {}; players are told 127.0.0.1", config.join.front());
        return found.value_or("127.0.0.1");
    }

    void wait_for(int file) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = file;
        if (epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, file, &event) != 0) throw std::runtime_error("no epoll");
    }
    void wait() {
        const Duration left = loop_.next_turn() - clock_.now();
        const auto whole = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        std::array<epoll_event, 8> events{};
        const int timeout = static_cast<int>(std::clamp<std::int64_t>(whole, 0, 1000));
        epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), timeout);
        std::uint64_t ignored = 0;
        [[maybe_unused]] const ssize_t got = read(wake_.number(), &ignored, sizeof ignored);
    }
    void wake() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t put = write(wake_.number(), &one, sizeof one);
    }

    // At most a second old when there is something new; idle, as old as the last turn.
    void publish_metrics() {
        const Time now = clock_.now();
        if (!metrics_ || now < next_metrics_) return;
        next_metrics_ = now + 1s;
        std::optional<std::int64_t> certificate_left;
        if (const auto expires = tls_.expires()) certificate_left = *expires - clock_.wall().value / 1'000;
        metrics_->publish(loop_.metrics(certificate_left));
    }

    // At the start, after each reload, and once a day.
    void warn_of_certificate() {
        certificate_looked_at_ = clock_.now();
        for (const std::string& warning : {tls_.warning(clock_.wall()), tls_.key_warning()}) {
            if (!warning.empty()) log_.warning("{}", warning);
        }
    }

    void warn_of_open_files(const AgentConfig& config) {
        const std::string warning = warning_of_open_files(config.runs, open_files_);
        if (!warning.empty()) log_.warning("{}", warning);
    }

    void take_signal(int signal) {
        if (signal == SIGHUP) return reload();
        if (signal == SIGCHLD) return;
        if ((signal == SIGTERM || signal == SIGQUIT) && !options_.term_ends_all) {
            manager_.stopping();
            over_ = true;
            return;
        }
        // It also says that whoever started the agent is gone, which is no wish to end matches.
        if (signal == SIGTERM && ending_) return;
        log_.info("{}", ending_ ? "Ending all processes at once" : "Ending all processes, their matches first");
        manager_.stopping();
        loop_.end_all(ending_);
        ending_ = true;
    }

    void reload() {
        // A pipe may keep whoever opens it waiting, which only the start can afford.
        std::error_code ignored;
        if (std::filesystem::exists(options_.file, ignored) &&
            !std::filesystem::is_regular_file(options_.file, ignored))
            return log_.error("Config not reloaded: {} is no regular file", options_.file.string());
        auto loaded = load_agent_config(options_.file, options_.environment, options_.host_name);
        std::vector<std::string> problems = loaded ? problems_of_host(loaded->config) : loaded.error();
        for (const std::string& problem : problems) log_.error("Config not reloaded: {}", problem);
        if (!problems.empty()) return;
        const auto changes = tls_.reload(clock_.wall());
        if (!changes) return log_.error("Config not reloaded: {}", changes.error());
        for (const std::string& change : *changes) log_.info("Changed {}", change);
        warn_of_certificate();
        warn_of_open_files(loaded->config);
        loop_.reload(loaded->config);
        if (const std::string keys = changed_for_good(loaded->config); !keys.empty())
            log_.warning("Config: {} changed; that takes effect when the agent is restarted, which ends no match",
                         keys);
        const std::size_t runs = loaded->config.runs.size();
        log_.info("Config reloaded: {} {}", runs, runs == 1 ? "run" : "runs");
    }
    // What only the next agent can take from the config, as a list of keys.
    std::string changed_for_good(const AgentConfig& next) const {
        std::vector<std::string_view> keys;
        if (next.name != config_.name) keys.emplace_back("agent.name");
        if (next.join != config_.join) keys.emplace_back("agent.join");
        if (next.address != config_.address) keys.emplace_back("agent.address");
        if (next.region != config_.region) keys.emplace_back("agent.region");
        if (next.state != config_.state) keys.emplace_back("agent.state");
        if (next.metrics != config_.metrics) keys.emplace_back("agent.metrics");
        return fmt::format("{}", fmt::join(keys, ", "));
    }

    // What was said to Muster at the end must get out.
    void say_goodbye() {
        host_side_.goodbye();
        const Time until = clock_.now() + 3s;
        while (!muster_.all_left() && clock_.now() < until) {
            std::array<epoll_event, 1> events{};
            epoll_wait(epoll_.number(), events.data(), 1, 50);
            (void)muster_.take_said();
            muster_.tidy(clock_.now());
        }
    }

    const AgentConfig config_;  // at the start
    const AgentOptions& options_;
    const std::size_t open_files_;  // that the agent may have
    AgentTls tls_;
    Time certificate_looked_at_{};
    MetricsPort* const metrics_;  // null: nobody wants them
    Time next_metrics_{};
    std::string host_name_;
    SystemClock clock_;
    Log log_;
    ServiceManager manager_;
    StateFolder folder_;
    FileDescriptor wake_;
    FileDescriptor epoll_;
    const std::string address_;  // where players reach this host
    Host host_;
    MusterSide muster_;
    HostSide host_side_;
    SdkServer sdk_server_;
    AgentLoop loop_;
    bool ending_ = false;
    bool over_ = false;
};

// What is wrong with a command that find_program() did not find.
std::string why_not_found(const std::string& word, const std::filesystem::path& directory) {
    if (word.find('/') == std::string::npos)
        return fmt::format("there is no program {} on the PATH; for one in this folder write ./{}", safe_text(word),
                           safe_text(word));
    std::error_code ignored;
    const auto file = std::filesystem::absolute(directory / word, ignored).lexically_normal();
    const std::string shown = safe_text(file.string());
    if (!std::filesystem::exists(file, ignored)) return fmt::format("no such file: {}", shown);
    if (std::filesystem::is_directory(file, ignored)) return fmt::format("{} is a directory; give a program", shown);
    return fmt::format("{} is not executable; chmod +x makes it so", shown);
}

}  // namespace

std::optional<std::string> problem_of_program(const std::string& word, const std::filesystem::path& directory) {
    if (find_program(word, directory, search_path())) return std::nullopt;
    return why_not_found(word, directory);
}

std::vector<std::string> problems_of_host(const AgentConfig& config) {
    std::vector<std::string> problems;
    if (config.runs.empty())
        problems.push_back(config.places.told(
            "run", "run: there is nothing to run; begin a run with [[run]], or give it count = 0 for none"));
    for (const RunConfig& run : config.runs) {
        std::error_code ignored;
        if (!std::filesystem::is_directory(run.directory, ignored)) {
            problems.push_back(
                config.places.told(fmt::format("run.{}.directory", run.name),
                                   fmt::format("run {}: directory: {} is not there; give the path of a folder",
                                               run.name, safe_text(run.directory))));
        } else if (const auto problem = problem_of_program(run.command[0], run.directory)) {
            problems.push_back(config.places.told(fmt::format("run.{}.command", run.name),
                                                  fmt::format("run {}: command: {}", run.name, *problem)));
        }
    }
    return problems;
}

int run_agent(const AgentConfig& config, const AgentOptions& options) {
    std::vector<std::string> problems = problems_of_host(config);
    auto folder = StateFolder::open(config.state);
    auto tls = AgentTls::read(config.join, sdk::TlsOptions::of_environment());
    if (!tls) problems.push_back(tls.error());
    std::unique_ptr<MetricsPort> metrics;
    ExitCode code_of_problems = ExitCode::config;
    if (!folder) {
        if (problems.empty() && folder.error().in_use) code_of_problems = ExitCode::in_use;
        problems.push_back(config.places.told("agent.state", fmt::format("agent.state: {}", folder.error().text)));
    }
    try {
        const SignalFile signals;
        if (config.metrics) {
            auto opened = MetricsPort::open(*config.metrics);
            if (opened) {
                metrics = std::move(*opened);
            } else {
                if (problems.empty()) code_of_problems = ExitCode::unavailable;
                problems.push_back(config.places.told(
                    "agent.metrics",
                    fmt::format("agent.metrics: {}; give another port, or end who has it", opened.error())));
            }
        }
        for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
        if (!problems.empty()) return to_int(code_of_problems);
        disable_core_dumps();
        const std::size_t open_files = raise_open_files_limit();
        LogOutput output(STDERR_FILENO,
                         log_style_for(STDERR_FILENO, std::getenv("JOURNAL_STREAM"), std::getenv("NO_COLOR")));
        const int code =
            Agent(config, options, output, std::move(*folder), std::move(*tls), metrics.get(), open_files).run(signals);
        output.close();
        return code;
    } catch (const std::exception& failure) {
        fmt::print(stderr, "muster: the agent cannot go on: {}\n", failure.what());
        return to_int(ExitCode::internal);
    }
}

}  // namespace muster
