#include "agent/launch.h"

#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/life_mark.h"
#include "agent/proc.h"

namespace muster {
namespace {

// Where in the child something failed, and why.
struct ChildFailure {
    enum class Where : std::int32_t { directory, output, cgroup, program };
    Where where;
    std::int32_t error;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// All of it in the child, which borrows its parent's memory: nothing here allocates, takes a lock or returns.
struct Child {
    const char* program;
    char* const* words;
    char* const* environment;
    const char* directory;
    int output;
    int cgroup_procs;
    int report;
    int input;
    bool ignores_usr1;
    std::uint64_t mark;

    [[noreturn]] void fail(ChildFailure::Where where) const {
        const ChildFailure failure{where, errno};
        [[maybe_unused]] const ssize_t told = write(report, &failure, sizeof failure);
        _exit(127);
    }

    [[noreturn]] void run() const {
        setsid();
        // First into its cgroup: what it forks later is in there too.
        if (cgroup_procs >= 0 && write(cgroup_procs, "0", 1) != 1) fail(ChildFailure::Where::cgroup);
        for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
        if (ignores_usr1) ::signal(SIGUSR1, SIG_IGN);
        if (mark != 0) carry_mark(mark);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
            fail(ChildFailure::Where::output);
        // Whoever started the agent may have left descriptors open in it.
        syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
        if (chdir(directory) != 0) fail(ChildFailure::Where::directory);
        execve(program, words, environment);
        fail(ChildFailure::Where::program);
    }
};

std::string to_text(const ChildFailure& failure, const LaunchPlan& plan) {
    std::string why = std::strerror(failure.error);
    switch (failure.where) {
        case ChildFailure::Where::directory:
            return fmt::format("{}: {}", plan.directory.string(), why);
        case ChildFailure::Where::output:
            return fmt::format("its output: {}", why);
        case ChildFailure::Where::cgroup:
            return fmt::format("its cgroup: {}", why);
        case ChildFailure::Where::program:
            return fmt::format("{}: {}", plan.program.string(), why);
    }
    return why;
}

bool is_for_the_agent(std::string_view name) {
    static constexpr std::array<std::string_view, 9> names = {
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",   "JOURNAL_STREAM",       "INVOCATION_ID",
        "LISTEN_FDS",    "LISTEN_PID",    "LISTEN_FDNAMES", "CREDENTIALS_DIRECTORY"};
    return name.starts_with("MUSTER_") || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<Launched, std::string> launch(const LaunchPlan& plan) {
    std::vector<std::string> words = plan.words;
    std::vector<std::string> variables;
    variables.reserve(plan.environment.size());
    for (const EnvironmentEntry& each : plan.environment) variables.push_back(each.name + "=" + each.value);
    const std::vector<char*> word_pointers = pointers_to(words);
    const std::vector<char*> variable_pointers = pointers_to(variables);
    const std::string program = std::filesystem::absolute(plan.program).string();
    const std::string directory = plan.directory.string();

    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return Failure(fmt::format("no pipe: {}", std::strerror(errno)));
    FileDescriptor heard(ends[0]);
    FileDescriptor report(ends[1]);
    const FileDescriptor no_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!no_input) return Failure(fmt::format("/dev/null: {}", std::strerror(errno)));

    const int input = plan.input >= 0 ? plan.input : no_input.number();
    const Child child{program.c_str(),
                      word_pointers.data(),
                      variable_pointers.data(),
                      directory.c_str(),
                      plan.output,
                      plan.cgroup_procs,
                      report.number(),
                      input,
                      plan.ignores_usr1,
                      plan.mark};
    // The child borrows our memory until it is its own program: a copy of an agent with a thousand sessions, and of
    // each page that its threads write to meanwhile, costs milliseconds. No handler of a signal may run in it.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    // run() allocates and returns nothing.
    // NOLINTNEXTLINE(bugprone-unsafe-functions,clang-analyzer-security.insecureAPI.vfork)
    const pid_t pid = vfork();
    if (pid == 0) child.run();
    const int failed = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) return Failure(fmt::format("cannot fork: {}", std::strerror(failed)));

    report.reset();
    ChildFailure failure{};
    ssize_t got = 0;
    do got = read(heard.number(), &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    // A child that failed stays a zombie until the agent collects it with all others.
    if (got == static_cast<ssize_t>(sizeof failure)) return Failure(to_text(failure, plan));
    // It cannot be another process by now: until we collect it, the number is its own.
    FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    const auto stat = read_stat(pid);
    return Launched{pid, stat ? stat->start_ticks : 0, std::move(pidfd)};
}

std::optional<std::filesystem::path> find_program(std::string_view word, const std::filesystem::path& directory,
                                                  std::string_view path) {
    const auto may_run = [](const std::filesystem::path& file) {
        std::error_code ignored;
        return std::filesystem::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
    };
    if (word.find('/') != std::string_view::npos) {
        const auto file = directory / word;
        return may_run(file) ? std::optional(file) : std::nullopt;
    }
    while (!path.empty()) {
        const std::size_t colon = path.find(':');
        const std::string_view folder = path.substr(0, colon);
        auto file = (folder.empty() ? directory : directory / folder) / word;
        if (may_run(file)) return file;
        path = colon == std::string_view::npos ? std::string_view() : path.substr(colon + 1);
    }
    return std::nullopt;
}

std::string with_words(std::string_view text, const ProcessWords& words) {
    const std::pair<std::string_view, std::string> known[] = {{"{port}", std::to_string(words.port)},
                                                              {"{name}", words.name},
                                                              {"{host}", words.host},
                                                              {"{region}", std::to_string(words.region)}};
    std::string out;
    while (!text.empty()) {
        const auto found = std::find_if(std::begin(known), std::end(known),
                                        [text](const auto& each) { return text.starts_with(each.first); });
        if (found == std::end(known)) {
            out += text.front();
            text.remove_prefix(1);
        } else {
            out += found->second;
            text.remove_prefix(found->first.size());
        }
    }
    return out;
}

std::vector<EnvironmentEntry> inherited_environment() {
    std::vector<EnvironmentEntry> entries;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || is_for_the_agent(text.substr(0, equals))) continue;
        entries.push_back({std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))});
    }
    return entries;
}

}  // namespace muster
