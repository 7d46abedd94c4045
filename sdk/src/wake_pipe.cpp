#include "sdk/src/wake_pipe.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace muster::sdk {

WakePipe::WakePipe() {
    if (pipe(ends_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    for (const int end : ends_) {
        fcntl(end, F_SETFL, O_NONBLOCK);
        fcntl(end, F_SETFD, FD_CLOEXEC);
    }
}

WakePipe::~WakePipe() {
    for (const int end : ends_) close(end);
}

void WakePipe::wake() const noexcept {
    const int before = errno;  // a signal handler leaves it as it was
    const char byte = 1;
    // A full pipe wakes as well.
    [[maybe_unused]] const auto written = write(ends_[1], &byte, 1);
    errno = before;
}

void WakePipe::clear() const noexcept {
    char bytes[256];
    while (read(ends_[0], bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes)) continue;
}

}  // namespace muster::sdk
