#include "agent/folder_lock.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/regular_file.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Duration look_every = 20ms;

std::optional<std::int32_t> holder_of(int file) {
    std::array<char, 16> text{};
    const ssize_t length = pread(file, text.data(), text.size(), 0);
    std::int32_t pid = 0;
    if (length > 0) std::from_chars(text.data(), text.data() + length, pid);
    return pid > 0 ? std::optional(pid) : std::nullopt;
}

}  // namespace

Result<FolderLock, FolderLock::Refusal> FolderLock::take(const std::filesystem::path& folder, Duration patience) {
    errno = 0;
    FileDescriptor file = open_regular(folder / "lock", O_RDWR | O_CREAT);
    if (!file) return Failure(Refusal{.why = errno != 0 ? std::strerror(errno) : "its lock is no regular file"});
    const auto until = std::chrono::steady_clock::now() + patience;
    while (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return Failure(Refusal{.why = std::strerror(errno)});
        if (std::chrono::steady_clock::now() >= until)
            return Failure(Refusal{.in_use = true, .holder = holder_of(file.number())});
        std::this_thread::sleep_for(look_every);
    }
    // The number is for people only: failing to write it on a full disk does no harm.
    const std::string own = fmt::format("{}\n", getpid());
    [[maybe_unused]] const int emptied = ftruncate(file.number(), 0);
    [[maybe_unused]] const ssize_t written = pwrite(file.number(), own.data(), own.size(), 0);
    return FolderLock(std::move(file));
}

bool FolderLock::is_of(const std::filesystem::path& folder) const {
    struct stat held{};
    struct stat there{};
    return fstat(file_.number(), &held) == 0 && stat((folder / "lock").c_str(), &there) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

bool FolderLock::is_removed() const {
    struct stat held{};
    return fstat(file_.number(), &held) != 0 || held.st_nlink == 0;
}

std::string with_pid(std::string_view who, const std::optional<std::int32_t>& pid) {
    return pid ? fmt::format("{} (pid {})", who, *pid) : std::string(who);
}

}  // namespace muster
