// How the process says why it ended; the numbers are those of sysexits.h.
#pragma once

namespace muster {

enum class ExitCode : int {
    ok = 0,
    usage = 64,          // unknown command or bad argument
    damaged_store = 65,  // the store's file is damaged, foreign, too new or no regular file
    unavailable = 69,    // a port is in use or cannot be opened
    internal = 70,       // internal error
    in_use = 73,         // another process holds the store or the folder
    io = 74,             // disk or file error: cannot be made, opened, read or written
    config = 78,         // the config is invalid or unsafe
};

constexpr int to_int(ExitCode code) {
    return static_cast<int>(code);
}

}  // namespace muster
