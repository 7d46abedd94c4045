// One agent at a time works under the id of a state folder on this machine. A copy of a folder has its id, and its own
// lock: without this, two agents would adopt the same processes (G-7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "net/file_descriptor.h"

namespace muster {

class IdClaim {
public:
    struct Holder {
        std::optional<std::int32_t> pid{};
    };
    // Waits up to `patience` for whoever has it. Only processes of this user and of root can hold an id: what another
    // user has put in its place keeps nobody out. Gone with the process, however it ends.
    static Result<IdClaim, Holder> take(const std::string& id, Duration patience);

    IdClaim() = default;  // of no id

private:
    explicit IdClaim(FileDescriptor socket) : socket_(std::move(socket)) {}

    FileDescriptor socket_;  // a name among the abstract sockets of our network namespace
};

}  // namespace muster
