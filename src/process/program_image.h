// A program to be executed: its words and its environment as execve() wants them. Made before the fork, since a child
// of a process with threads must not allocate.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster {

class ProgramImage {
public:
    enum class Inherit {
        all,
        not_musters,  // without every MUSTER_ variable, and without JOURNAL_STREAM, which would change how it logs
    };

    // `command` begins with the program, by path or by a name on PATH. `environment` comes on top of what is inherited.
    ProgramImage(std::vector<std::string> command, const std::map<std::string, std::string>& environment,
                 Inherit inherit);
    ProgramImage(const ProgramImage&) = delete;
    ProgramImage& operator=(const ProgramImage&) = delete;

    // In the child. Returns only when the program cannot be executed; errno says why.
    void execute() const;

private:
    std::vector<std::string> command_;
    std::vector<std::string> environment_;
    std::vector<char*> words_;      // into command_, and a null
    std::vector<char*> variables_;  // into environment_, and a null
};

// What a shell would say of the status that waitpid() gave: the exit code, or 128 and the signal.
int exit_code_of(int wait_status);

}  // namespace muster
