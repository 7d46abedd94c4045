#include "store/store_lock.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/planted.h"
#include "store/store_fault.h"

namespace muster {
namespace {

std::string holder(int file) {
    std::array<char, 32> text{};
    const ssize_t length = pread(file, text.data(), text.size(), 0);
    std::string process(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    process.erase(process.find_last_not_of(" \n") + 1);
    const bool is_number = !process.empty() && process.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? "process " + process : "another process";
}

}  // namespace

StoreLock::StoreLock(const std::string& store_path) : path_(store_path + ".lock") {
    // Each turn lost is a process that came to its end meanwhile and took the file along.
    constexpr int turns_max = 100;
    for (int turn = 1;; ++turn) {
        const bool opened = open_file();
        if (!opened && (errno != ENOENT || turn == turns_max))
            throw StoreError(exit_io, fmt::format("{}: cannot open {}: {}", store_path, path_, strerror(errno)));
        if (!opened) continue;
        if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
            const int reason = errno;
            const std::string who = holder(file_);
            close(file_);
            if (reason == EWOULDBLOCK)
                throw StoreError(exit_in_use, fmt::format("{} is in use by {}", store_path, who));
            throw StoreError(exit_io, fmt::format("{}: cannot lock {}: {}", store_path, path_, strerror(reason)));
        }
        if (is_in_place()) break;
        close(file_);
        if (turn == turns_max) throw StoreError(exit_in_use, fmt::format("{} is in use by others", store_path));
    }
    // The number is for people only, so that failing to write it on a full disk does no harm.
    const std::string own = fmt::format("{}\n", getpid());
    [[maybe_unused]] const int mode = fchmod(file_, S_IRUSR | S_IWUSR);
    [[maybe_unused]] const int emptied = ftruncate(file_, 0);
    [[maybe_unused]] const ssize_t written = pwrite(file_, own.data(), own.size(), 0);
}

StoreLock::~StoreLock() {
    // While it is locked: whoever opened it meanwhile finds that it is gone.
    if (made_ && is_in_place()) unlink(path_.c_str());
    close(file_);
}

// False with errno: ENOENT when it went between two looks.
bool StoreLock::open_file() {
    constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    file_ = open(path_.c_str(), flags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    made_ = file_ >= 0;
    if (!made_ && errno == EEXIST) file_ = open(path_.c_str(), flags);
    return file_ >= 0;
}

// Two newcomers could lock two different files of that name otherwise.
bool StoreLock::is_in_place() const {
    struct stat ours{}, there{};
    return fstat(file_, &ours) == 0 && stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

StoreHold::StoreHold(const std::string& store_path)
    : path_(store_path),
      log_path_(store_path + "-wal"),
      file_(open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    // SQLite locks up to 511 bytes from 1 GiB on.
    constexpr off_t our_byte = 0x40001000;
    if (file_ < 0) throw StoreError(exit_io, fmt::format("{} cannot be opened: {}", path_, strerror(errno)));
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = our_byte;
    lock.l_len = 1;
    if (fcntl(file_, F_OFD_SETLK, &lock) != 0) {
        const int reason = errno;
        close(file_);
        if (reason == EAGAIN || reason == EACCES)
            throw StoreError(exit_in_use, fmt::format("{} is in use by another process", path_));
        throw StoreError(exit_io, fmt::format("{} cannot be locked: {}", path_, strerror(reason)));
    }
    struct stat found{};
    if (fstat(file_, &found) == 0) identity_ = {found.st_dev, found.st_ino};
}

StoreHold::~StoreHold() {
    close(file_);
}

bool StoreHold::misplaced() {
    if (planted(Bug::store_file_unwatched)) return false;
    if (at(path_) != identity_) return true;
    if (!contents_) contents_ = contents();
    if (contents() != contents_) return true;
    const std::optional<Identity> log = at(log_path_);
    if (!log_) log_ = log;
    return log != log_;
}

std::optional<StoreHold::Contents> StoreHold::contents() const {
    struct stat found{};
    if (fstat(file_, &found) != 0) return std::nullopt;
    return Contents{found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

// The times are not asked for. Once they were, Linux dates the next write to the nanosecond in place of the tick, which
// changes the inode with every commit: on a file system without a journal each sync then writes it, too.
std::optional<StoreHold::Identity> StoreHold::at(const std::string& path) {
    struct statx found{};
    if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO, &found) != 0) return std::nullopt;
    return Identity{makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino};
}

}  // namespace muster
