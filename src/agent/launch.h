// Starts a program as a process of this host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/run_config.h"
#include "agent/sdk_side.h"
#include "base/result.h"
#include "net/file_descriptor.h"

namespace muster {

struct LaunchPlan {
    std::filesystem::path program;  // as find_program() found it
    std::vector<std::string> words;
    std::vector<EnvironmentEntry> environment;  // all of it
    std::filesystem::path directory;
    int input = -1;             // standard input; -1: none
    int output = -1;            // gets standard output and error
    int cgroup_procs = -1;      // of the cgroup that it is to be in; -1: none
    bool ignores_usr1 = false;  // until it says otherwise itself
    std::uint64_t mark = 0;     // of its life; 0: none
};

struct Launched {
    std::int32_t pid = 0;
    std::uint64_t start_ticks = 0;  // 0: it has ended already
    FileDescriptor pidfd;
};

// The process leads a session and a process group of its own, and has none of our other descriptors. Fails
// with what the system said. Any thread.
Result<Launched, std::string> launch(const LaunchPlan& plan);

// Where the system would find the first word of a command: as it stands when there is a slash in it (from `directory`),
// else along `path`. None when there is no file that may be run.
std::optional<std::filesystem::path> find_program(std::string_view word, const std::filesystem::path& directory,
                                                  std::string_view path);

// What stands for {port}, {name}, {host} and {region}.
struct ProcessWords {
    std::uint16_t port = 0;
    std::string name;
    std::string host;
    std::int32_t region = 0;
};
std::string with_words(std::string_view text, const ProcessWords& words);

// The environment that every process starts from: ours, without what is meant for the agent alone. No secret of Muster
// is among it.
std::vector<EnvironmentEntry> inherited_environment();

}  // namespace muster
