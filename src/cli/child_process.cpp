#include "cli/child_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <thread>

#include <unistd.h>

#include "cli/command.h"
#include "process/exit_code.h"
#include "process/program_image.h"

namespace muster {
namespace {

constexpr std::chrono::seconds end_patience{12};  // the daemon's own limit is 10 s
constexpr std::chrono::milliseconds look_every{10};
constexpr int cannot_start = 127;

}  // namespace

std::string own_path() {
    std::error_code failure;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", failure);
    if (failure) throw CommandFailure(to_int(ExitCode::internal), "cannot find this program: " + failure.message());
    return path.string();
}

ChildProcess::ChildProcess(const Plan& plan) {
    using enum ProgramImage::Inherit;
    const ProgramImage program(plan.command, plan.environment, plan.clean ? not_musters : all);
    const pid_t parent = getpid();
    sigset_t none;
    sigemptyset(&none);

    // All that it needs is made before. NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer)
    pid_ = fork();
    if (pid_ < 0) throw CommandFailure(to_int(ExitCode::internal), "cannot start another process");
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(cannot_start);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (plan.own_group) setpgid(0, 0);
    if (plan.output >= 0) {
        dup2(plan.output, STDOUT_FILENO);
        dup2(plan.output, STDERR_FILENO);
    }
    program.execute();
    _exit(cannot_start);
}

ChildProcess::~ChildProcess() {
    terminate();
    const auto until = std::chrono::steady_clock::now() + end_patience;
    while (running()) {
        if (std::chrono::steady_clock::now() > until) kill(pid_, SIGKILL);
        std::this_thread::sleep_for(look_every);
    }
}

bool ChildProcess::running() {
    if (pid_ < 0) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) ended(status);
    return pid_ >= 0;
}

int ChildProcess::wait() {
    int status = 0;
    while (pid_ >= 0) {
        const pid_t found = waitpid(pid_, &status, 0);
        if (found == pid_) ended(status);
        if (found < 0 && errno != EINTR) pid_ = -1;
    }
    return code_;
}

void ChildProcess::terminate() {
    signal(SIGTERM);
}

void ChildProcess::signal(int number) {
    if (pid_ >= 0) kill(pid_, number);
}

void ChildProcess::ended(int status) {
    pid_ = -1;
    code_ = exit_code_of(status);
}

}  // namespace muster
