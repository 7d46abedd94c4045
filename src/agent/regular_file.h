// Opening files in a folder that game processes can write to.
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include <fcntl.h>

#include "net/file_descriptor.h"

namespace muster {

// As open(2), but only what is a regular file, no link to one. Never waits: a FIFO in its place would hold up the
// agent, and with it every process of the host.
inline FileDescriptor open_regular(const std::filesystem::path& path, int flags, mode_t mode = 0600) {
    FileDescriptor file(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, mode));
    struct stat found{};
    if (file && (fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode))) file.reset();
    return file;
}

}  // namespace muster
