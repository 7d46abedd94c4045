#include "agent/replaced_file.h"

#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "agent/regular_file.h"

namespace muster {
namespace {

// That a file has its name, or none, is in its folder.
bool folder_synced(const std::filesystem::path& file, Kept kept) {
    if (kept == Kept::until_reboot) return true;
    const FileDescriptor folder(open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return folder && fsync(folder.number()) == 0;
}

}  // namespace

bool replace_file(const std::filesystem::path& file, std::string_view text, Kept kept) {
    const std::filesystem::path draft = file.string() + ".new";
    bool good = false;
    {
        const FileDescriptor out = open_regular(draft, O_WRONLY | O_CREAT | O_TRUNC);
        good = out && write(out.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
               (kept == Kept::until_reboot || fsync(out.number()) == 0);
    }
    if (good) return std::rename(draft.c_str(), file.c_str()) == 0 && folder_synced(file, kept);
    unlink(draft.c_str());
    return false;
}

bool remove_file(const std::filesystem::path& file, Kept kept) {
    std::error_code error;
    std::filesystem::remove(file, error);
    return !error && folder_synced(file, kept);
}

}  // namespace muster
