// Another program that a command starts: it never outlives the command.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace muster {

// This very program, as the system knows it. Throws CommandFailure when it does not.
std::string own_path();

class ChildProcess {
public:
    struct Plan {
        std::vector<std::string> command{};  // its path first
        // Over ours, from which every MUSTER_ variable is taken out when `clean` is set.
        std::map<std::string, std::string> environment{};
        bool clean = false;
        int output = -1;         // gets its standard output and error; -1: they are ours
        bool own_group = false;  // Ctrl-C at our terminal is not for it
    };
    // Throws CommandFailure when it cannot be started. It gets SIGTERM when we end in whatever way.
    explicit ChildProcess(const Plan& plan);
    // SIGTERM, and SIGKILL when it has not ended ten seconds later.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    pid_t pid() const { return pid_; }
    bool running();
    // Waits for its end: the exit code, or 128 and the signal.
    int wait();
    void terminate();
    void signal(int number);

private:
    void ended(int status);

    pid_t pid_ = -1;
    int code_ = 0;
};

}  // namespace muster
