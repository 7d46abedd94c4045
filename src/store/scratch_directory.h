// For tests: a directory of one's own, gone at the end. In memory where there is such a place: what these tests ask of
// a disk, they ask of a simulated one.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "base/check.h"

namespace muster {

class ScratchDirectory {
public:
    ScratchDirectory() {
        const std::filesystem::path in_memory = "/dev/shm";
        const bool has_memory = access(in_memory.c_str(), W_OK) == 0;
        const auto parent = has_memory ? in_memory : std::filesystem::temp_directory_path();
        std::string pattern = (parent / "muster-store-XXXXXX").string();
        MUSTER_CHECK(mkdtemp(pattern.data()) != nullptr, "there is room for temporary files");
        path_ = std::filesystem::canonical(pattern);
    }
    ~ScratchDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

}  // namespace muster
