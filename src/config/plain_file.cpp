#include "config/plain_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace muster {

Result<PlainFile, std::string> PlainFile::open(const std::filesystem::path& path) {
    // Not blocking, so that a pipe without a writer cannot hold up a start or a reload.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return Failure<std::string>(std::strerror(errno));
    PlainFile file(fd, 0);
    struct stat about{};
    if (::fstat(fd, &about) != 0) return Failure<std::string>(std::strerror(errno));
    if (S_ISDIR(about.st_mode)) return Failure<std::string>("is a directory");
    if (!S_ISREG(about.st_mode)) return Failure<std::string>("not a regular file");
    file.mode_ = about.st_mode;
    file.owner_ = about.st_uid;
    return file;
}

PlainFile::PlainFile(PlainFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), mode_(other.mode_), owner_(other.owner_) {}

PlainFile::~PlainFile() {
    if (fd_ >= 0) ::close(fd_);
}

ssize_t PlainFile::read(char* place, std::size_t size) {
    std::size_t read = 0;
    while (read < size) {
        const ssize_t got = ::read(fd_, place + read, size - read);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        read += static_cast<std::size_t>(got);
    }
    return static_cast<ssize_t>(read);
}

}  // namespace muster
