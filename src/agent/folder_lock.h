// A folder that one process at a time uses. The lock is on a file in it, by its inode: it goes where the folder goes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "net/file_descriptor.h"

namespace muster {

class FolderLock {
public:
    struct Refusal {
        bool in_use = false;                   // by somebody else; otherwise the lock cannot be written
        std::optional<std::int32_t> holder{};  // the process id that the lock names
        std::string why{};                     // of one that cannot be written
    };
    // Waits up to `patience` for whoever has it. The folder is there.
    static Result<FolderLock, Refusal> take(const std::filesystem::path& folder, Duration patience);

    FolderLock() = default;  // of no folder
    // The lock is held as long as anybody has this file open, or on its way to somebody.
    int number() const { return file_.number(); }
    // Whether the folder at that path is the one that is locked.
    bool is_of(const std::filesystem::path& folder) const;
    // Whether its file was removed, and so the lock keeps nobody out any more.
    bool is_removed() const;

private:
    explicit FolderLock(FileDescriptor file) : file_(std::move(file)) {}

    FileDescriptor file_;
};

// "another agent (pid 4711)", or without the number when it is not known.
std::string with_pid(std::string_view who, const std::optional<std::int32_t>& pid);

}  // namespace muster
