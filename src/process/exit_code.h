// How the process says why it ended; the numbers are those of sysexits.h.
#pragma once

namespace muster {

enum class ExitCode : int {
    ok = 0,
    usage = 64,          // a bad flag or command
    damaged_store = 65,  // the store's file is damaged, foreign or too new
    unavailable = 69,    // a port is in use or cannot be opened
    internal = 70,       // our own failure
    store_in_use = 73,   // another process holds the store
    io = 74,             // a disk or a file failed
    config = 78,         // the config is wrong, or not safe to serve with
};

constexpr int to_int(ExitCode code) {
    return static_cast<int>(code);
}

}  // namespace muster
