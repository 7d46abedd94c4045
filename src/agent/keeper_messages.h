// What the agent and its keeper say to each other: datagrams with descriptors on a pair of sockets. Both are the same
// program, of the same version.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/launch.h"
#include "net/file_descriptor.h"

namespace muster {

// Agent -> keeper: start this, and write its end to `exit_file`.
struct KeptLaunch {
    LaunchPlan plan{};  // its descriptors are sent with it
    std::string life{};
    std::string exit_file{};
};
struct ReceivedLaunch {
    KeptLaunch launch{};
    FileDescriptor output{};
    FileDescriptor cgroup_procs{};
    FileDescriptor lock{};  // of the state folder: nobody else has the folder before the process is there
};

// Keeper -> agent.
struct KeeperWord {
    enum class Kind : std::int32_t { launched, failed, ended };
    static constexpr std::size_t text_max = 1024;

    Kind kind = Kind::failed;
    std::int32_t pid = 0;               // of launched
    std::uint64_t start_ticks = 0;      // of launched
    std::array<char, text_max> text{};  // of failed: why; of ended: the note of its end

    std::string_view said() const { return text.data(); }
    void say(std::string_view what);
};

// False when the other one is gone, or too much is under way. Sending never waits.
bool send_launch(int socket, const KeptLaunch& launch, int lock);
bool send_word(int socket, const KeeperWord& word, int pidfd = -1);

// None when there is nothing, or what came makes no sense; `gone` is set when nobody is at the other end.
std::optional<ReceivedLaunch> receive_launch(int socket, bool& gone);
struct ReceivedWord {
    KeeperWord word{};
    FileDescriptor pidfd{};
};
std::optional<ReceivedWord> receive_word(int socket, bool& gone);

}  // namespace muster
