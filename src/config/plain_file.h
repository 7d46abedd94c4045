// A regular file, opened for reading without ever waiting: a pipe or a device in its place is refused, not read.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/result.h"

namespace muster {

class PlainFile {
public:
    // Fails with the reason alone, such as "No such file or directory" or "not a regular file".
    static Result<PlainFile, std::string> open(const std::filesystem::path& path);
    PlainFile(PlainFile&& other) noexcept;
    PlainFile(const PlainFile&) = delete;
    PlainFile& operator=(const PlainFile&) = delete;
    PlainFile& operator=(PlainFile&&) = delete;
    ~PlainFile();

    mode_t mode() const { return mode_; }
    uid_t owner() const { return owner_; }

    // Fills `place` as far as the file goes. Returns the bytes read; -1 with errno when the disk fails.
    ssize_t read(char* place, std::size_t size);

private:
    PlainFile(int fd, mode_t mode) : fd_(fd), mode_(mode) {}

    int fd_;
    mode_t mode_;
    uid_t owner_ = 0;
};

}  // namespace muster
