// The output of a process: a file that outlives agent and process, rotated by size, read from its end (G-9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "net/file_descriptor.h"

namespace muster {

// NAME.log is written by the process itself, NAME.log.1 is older, NAME.log.2 older still. Since the process holds the
// file open, a full one is copied and cut, not renamed; what is written between the two is lost.
class ProcessLog {
public:
    ProcessLog(std::filesystem::path file, std::int64_t size_max, std::int32_t files)
        : file_(std::move(file)), size_max_(size_max), files_(files) {}

    // For the process to write to, at its end. Fails with what the system said.
    Result<FileDescriptor, std::string> open() const;
    void set_limits(std::int64_t size_max, std::int32_t files) {
        size_max_ = size_max;
        files_ = files;
    }

    // Copies and cuts the file when it is full. Of a file that has grown far beyond its limit only the end is kept.
    void rotate_if_full() const;

    // The last `bytes_max` bytes, over the older files as far as needed, from the beginning of a line when there is
    // one.
    std::string tail(std::size_t bytes_max) const;
    // What has been written from `offset` of the present file on, at most `bytes_max` bytes of its end.
    std::string tail_from(std::int64_t offset, std::size_t bytes_max) const;
    // At most `bytes_max` bytes of the present file from `offset` on, for those who read on in pieces: no character and
    // no line end is cut in two, unless it is longer than `bytes_max`. A file that was cut since is read from its
    // beginning.
    struct Piece {
        std::string text{};
        std::int64_t end = 0;  // where to read on
    };
    Piece read_on(std::int64_t offset, std::size_t bytes_max) const;
    std::int64_t size() const;

private:
    std::filesystem::path older(std::int32_t number) const;

    std::filesystem::path file_;
    std::int64_t size_max_;
    std::int32_t files_;  // NAME.log included
};

// Output as people may see it: every line through safe_text(), line ends and tabs kept.
std::string safe_output(std::string_view output);

}  // namespace muster
