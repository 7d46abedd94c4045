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
#include <unistd.h>

#include "agent/agent_loop.h"
#include "agent/metrics_port.h"
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
        for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&ours_, number);
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
    Agent(const AgentConfig& config, const AgentOptions& options, LogOutput& output, StateFolder folder,
          MetricsPort* metrics)
        : options_(options),
          metrics_(metrics),
          log_(clock_, output),
          folder_(std::move(folder)),
          wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          epoll_(epoll_create1(EPOLL_CLOEXEC)),
          address_(address_of(config)),
          host_({config.name, config.region, config.join, token_of(config), search_path()}, folder_, log_),
          muster_({config.join, token_of(config), address_, config.region}, [this] { wake(); }),
          host_side_({token_of(config), config.name, address_, config.region, std::string(version())}, config.join,
                     muster_.runner(), [this] { wake(); }),
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
        if (metrics_) log_.info("Metrics are at port {}, /metrics", metrics_->port());
        for (const int file : {wake_.number(), signals.number(), host_.events_fd()}) wait_for(file);
        loop_.begin();
        manager_.ready("running");
        while (!over_) {
            loop_.turn();
            log_.tell_held_back();
            publish_metrics();
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
        metrics_->publish(loop_.metrics());
    }

    void take_signal(int signal) {
        if (signal == SIGHUP) return reload();
        if (signal == SIGCHLD) return;
        if (signal == SIGTERM && !options_.term_ends_all) {
            manager_.stopping();
            over_ = true;
            return;
        }
        log_.info("{}", ending_ ? "Ending all processes at once" : "Ending all processes, their matches first");
        manager_.stopping();
        loop_.end_all(ending_);
        ending_ = true;
    }

    void reload() {
        auto loaded = load_agent_config(options_.file, options_.environment, options_.host_name);
        std::vector<std::string> problems = loaded ? problems_of_host(loaded->config) : loaded.error();
        for (const std::string& problem : problems) log_.error("Config not reloaded: {}", problem);
        if (!problems.empty()) return;
        loop_.reload(loaded->config);
        log_.info("Config reloaded: {} runs", loaded->config.runs.size());
    }

    // What was said to Muster at the end must get out.
    void say_goodbye() {
        host_side_.goodbye();
        const Time until = clock_.now() + 3s;
        while (!muster_.all_left() && clock_.now() < until) {
            std::array<epoll_event, 1> events{};
            epoll_wait(epoll_.number(), events.data(), 1, 50);
            muster_.tidy(clock_.now());
        }
    }

    const AgentOptions& options_;
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
std::string why_not_run(const std::string& word, const std::filesystem::path& directory) {
    if (word.find('/') == std::string::npos)
        return fmt::format("there is no program {} on the PATH; for one in this folder write ./{}", safe_text(word),
                           safe_text(word));
    std::error_code ignored;
    const auto file = std::filesystem::absolute(directory / word, ignored).lexically_normal();
    const std::string shown = safe_text(file.string());
    if (!std::filesystem::exists(file, ignored)) return fmt::format("there is no file {}", shown);
    return fmt::format("{} is not executable; chmod +x makes it so", shown);
}

}  // namespace

std::vector<std::string> problems_of_host(const AgentConfig& config) {
    std::vector<std::string> problems;
    for (const RunConfig& run : config.runs) {
        std::error_code ignored;
        if (!std::filesystem::is_directory(run.directory, ignored)) {
            problems.push_back(fmt::format("run {}: directory: {} is not there; give the path of a folder", run.name,
                                           safe_text(run.directory)));
        } else if (!find_program(run.command[0], run.directory, search_path())) {
            problems.push_back(
                fmt::format("run {}: command: {}", run.name, why_not_run(run.command[0], run.directory)));
        }
    }
    return problems;
}

int run_agent(const AgentConfig& config, const AgentOptions& options) {
    std::vector<std::string> problems = problems_of_host(config);
    auto folder = StateFolder::open(config.state);
    if (!folder) problems.push_back(fmt::format("agent.state: {}", folder.error()));
    std::unique_ptr<MetricsPort> metrics;
    try {
        const SignalFile signals;
        if (config.metrics) {
            auto opened = MetricsPort::open(*config.metrics);
            if (opened)
                metrics = std::move(*opened);
            else
                problems.push_back(fmt::format("agent.metrics: {}", opened.error()));
        }
        for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
        if (!problems.empty()) return to_int(ExitCode::config);
        disable_core_dumps();
        raise_open_files_limit();
        LogOutput output(STDERR_FILENO,
                         log_style_for(STDERR_FILENO, std::getenv("JOURNAL_STREAM"), std::getenv("NO_COLOR")));
        const int code = Agent(config, options, output, std::move(*folder), metrics.get()).run(signals);
        output.close();
        return code;
    } catch (const std::exception& failure) {
        fmt::print(stderr, "muster: the agent cannot go on: {}\n", failure.what());
        return to_int(ExitCode::internal);
    }
}

}  // namespace muster
