// The agent's side of its keeper.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/exit_note.h"
#include "agent/keeper_messages.h"
#include "agent/launch.h"
#include "base/result.h"
#include "base/time.h"
#include "net/file_descriptor.h"

namespace muster {

// The agent's thread only. Destroying it lets the keeper go, which stays as long as its processes do.
class KeeperLink {
public:
    // A keeper that has not answered for so long is given up. The agent does nothing else meanwhile.
    static constexpr std::chrono::seconds answer_max{3};

    // Starts one from this very program. `host` and `state` are for people, who see them in a list of processes. Fails
    // with what the system said.
    static Result<KeeperLink, std::string> start(const std::string& host, const std::filesystem::path& state);
    // With one that runs.
    KeeperLink(FileDescriptor socket, Launched keeper) : socket_(std::move(socket)), keeper_(std::move(keeper)) {}

    std::int32_t pid() const { return keeper_.pid; }
    // Readable when take_ends() may have something.
    int file() const { return socket_.number(); }
    // It is gone, or was given up: of processes that it started it tells nothing any more.
    bool lost() const { return !socket_; }

    // As launch() does. `lock` is held until the process is there. After a failure with lost() the process may have
    // been started all the same.
    Result<Launched, std::string> launch(const KeptLaunch& launch, int lock);
    // How processes have ended since the last call.
    std::vector<ExitNote> take_ends();

    // Lets it go and waits for its end: for one whose processes have all ended.
    void close(std::chrono::milliseconds patience);

private:
    // What it has said by now; ends are kept.
    std::optional<ReceivedWord> receive();

    FileDescriptor socket_;
    Launched keeper_;
    std::vector<ExitNote> ends_;
};

}  // namespace muster
