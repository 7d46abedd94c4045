#include "agent/keeper.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "agent/exit_note.h"
#include "agent/keeper_messages.h"
#include "agent/launch.h"
#include "agent/proc.h"
#include "agent/replaced_file.h"
#include "process/core_dumps.h"
#include "process/exit_code.h"

namespace muster {
namespace {

class Keeper {
public:
    explicit Keeper(FileDescriptor agent) : agent_(std::move(agent)) {
        // Whatever ends the agent, a terminal or somebody's kill of a whole group, is not for the keeper.
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
        sigset_t children;
        sigemptyset(&children);
        sigaddset(&children, SIGCHLD);
        signals_ = FileDescriptor(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
        // What a process leaves behind is collected here, too.
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    }

    void run() {
        for (;;) {
            const bool has_children = collect();
            if (!agent_ && !has_children) return;
            std::array<pollfd, 2> files{{{signals_.number(), POLLIN, 0}, {agent_.number(), POLLIN, 0}}};
            if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR) return;
            signalfd_siginfo info{};
            while (read(signals_.number(), &info, sizeof info) == sizeof info) continue;
            // Nobody would write down what is started for an agent that is gone.
            if ((files[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) agent_.reset();
            if (agent_ && (files[1].revents & POLLIN) != 0) hear();
        }
    }

private:
    struct Life {
        std::string id{};
        std::string exit_file{};
    };

    void hear() {
        bool gone = false;
        const auto asked = receive_launch(agent_.number(), gone);
        if (gone) agent_.reset();
        if (!asked) return;
        KeeperWord word;
        const auto launched = launch(asked->launch.plan);
        if (launched) {
            word.kind = KeeperWord::Kind::launched;
            word.pid = launched->pid;
            word.start_ticks = launched->start_ticks;
            lives_[launched->pid] = {asked->launch.life, asked->launch.exit_file};
        } else {
            word.say(launched.error());
        }
        send_word(agent_.number(), word, launched ? launched->pidfd.number() : -1);
    }

    // False when there is nobody left to wait for.
    bool collect() {
        for (;;) {
            siginfo_t info{};
            if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != ECHILD;
            if (info.si_pid == 0) return true;
            if (const auto found = lives_.find(info.si_pid); found != lives_.end()) {
                // Before it is collected, its number, and that of its group, cannot be anybody else's.
                kill(-info.si_pid, SIGKILL);
                tell_end({found->second.id, status_of(info)}, found->second.exit_file);
                lives_.erase(found);
            }
            if (waitpid(info.si_pid, nullptr, 0) != info.si_pid) return true;
        }
    }

    // First for the agent that may come, then to the one that is there.
    void tell_end(const ExitNote& note, const std::string& file) const {
        KeeperWord word;
        word.kind = KeeperWord::Kind::ended;
        word.say(to_text(note));
        replace_file(file, word.said(), Kept::until_reboot);
        if (agent_) send_word(agent_.number(), word);
    }

    FileDescriptor agent_;
    FileDescriptor signals_;
    std::map<pid_t, Life> lives_;
};

}  // namespace

bool is_keeper(int argc, const char* const* argv) {
    return argc > 0 && std::string_view(argv[0]) == keeper_name;
}

int run_keeper() {
    try {
        prctl(PR_SET_NAME, keeper_name);
        disable_core_dumps();  // what it is asked to start may have secrets in its environment
        keep_processes(FileDescriptor(STDIN_FILENO));
        return to_int(ExitCode::ok);
    } catch (const std::exception&) {
        return to_int(ExitCode::internal);  // nobody hears it; the agent goes on with another one
    }
}

void keep_processes(FileDescriptor agent) {
    Keeper(std::move(agent)).run();
}

}  // namespace muster
