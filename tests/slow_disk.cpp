// A slow disk for whole-program tests, preloaded before the daemon: every sync waits as many milliseconds as the file
// that MUSTER_TEST_SYNC_DELAY names says at that moment.
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace {

void delay() {
    const char* path = std::getenv("MUSTER_TEST_SYNC_DELAY");
    std::FILE* file = path ? std::fopen(path, "re") : nullptr;
    if (!file) return;
    int milliseconds = 0;
    const bool told = std::fscanf(file, "%d", &milliseconds) == 1;
    std::fclose(file);
    if (told && milliseconds > 0) usleep(static_cast<useconds_t>(milliseconds) * 1000);
}

}  // namespace

extern "C" int fsync(int file) {
    delay();
    return static_cast<int>(syscall(SYS_fsync, file));
}

extern "C" int fdatasync(int file) {
    delay();
    return static_cast<int>(syscall(SYS_fdatasync, file));
}
