// Preloaded into the daemon: hands its calls on to the C library, with the faults of the FaultBlock.
//
// The date is shifted for the whole process. Disk faults hit files whose path starts as STORM_STORE says: the store's.
// Without STORM_FAULTS it changes nothing.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "fault_block.h"

namespace {

using muster::storm::FaultBlock;

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr timespec sync_look{0, 10 * ns_per_ms};

FaultBlock* mapped_block() {
    const char* path = std::getenv(muster::storm::fault_block_variable);
    if (!path) return nullptr;
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* at = ::mmap(nullptr, sizeof(FaultBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return at == MAP_FAILED ? nullptr : static_cast<FaultBlock*>(at);
}

FaultBlock* block() {
    static FaultBlock* const mapped = mapped_block();
    return mapped;
}

// The C library's own function of that name.
template <class Call>
Call real(const char* name) {
    return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

// The C library's clock. A sanitizer's allocator asks for the time while it holds its lock, first of all before
// anything of ours has run, and to look up a name allocates: until it is looked up the kernel is asked directly.
std::atomic<int (*)(clockid_t, timespec*)> library_clock{nullptr};

[[gnu::constructor]] void look_up_clock() {
    library_clock = real<int (*)(clockid_t, timespec*)>("clock_gettime");
}

int undated_clock(clockid_t clock, timespec* time) {
    const auto call = library_clock.load(std::memory_order_relaxed);
    return call ? call(clock, time) : static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
}

std::string path_of(int file) {
    std::array<char, 64> link{};
    std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
    std::array<char, 512> path{};
    const ssize_t size = ::readlink(link.data(), path.data(), path.size());
    return {path.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
}

bool of_store(int file) {
    const char* const prefix = std::getenv(muster::storm::store_path_variable);
    return prefix && path_of(file).starts_with(prefix);
}

bool full(int file) {
    if (!block() || block()->disk_full.load() == 0 || !of_store(file)) return false;
    errno = ENOSPC;
    return true;
}

// Waits as long as the fault says. False when the sync is to fail.
bool may_sync(int file) {
    if (!block() || !of_store(file)) return true;
    block()->syncs.fetch_add(1);
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    while (Clock::now() - began < std::chrono::milliseconds(block()->sync_delay_ms.load())) {
        ::nanosleep(&sync_look, nullptr);
    }
    if (block()->sync_fails.load() == 0) return true;
    errno = EIO;
    return false;
}

// The file's bytes as they are now, under its own name in the folder of synced files. The old copy stays until the new
// one is whole.
void copy_synced(int file) {
    const char* const folder = std::getenv(muster::storm::synced_folder_variable);
    if (!folder || !of_store(file)) return;
    const std::string path = path_of(file);
    const std::string copy = folder + path.substr(path.rfind('/'));
    const int out = ::open((copy + ".new").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0) return;
    std::array<char, 64 * 1024> part;
    off_t at = 0;
    ssize_t got = 0;
    while ((got = ::pread(file, part.data(), part.size(), at)) > 0) {
        if (::write(out, part.data(), static_cast<std::size_t>(got)) != got) break;
        at += got;
    }
    ::close(out);
    if (got == 0) ::rename((copy + ".new").c_str(), copy.c_str());
}

// The store's folder was synced: what was deleted in it is gone for good.
void forget_deleted(int folder) {
    const char* const copies = std::getenv(muster::storm::synced_folder_variable);
    const char* const prefix = std::getenv(muster::storm::store_path_variable);
    const std::string path = path_of(folder);
    if (!copies || !prefix || std::filesystem::path(prefix).parent_path() != path) return;
    std::error_code gone;
    for (const auto& copy : std::filesystem::directory_iterator(copies, gone)) {
        if (!std::filesystem::exists(path / copy.path().filename(), gone)) std::filesystem::remove(copy.path(), gone);
    }
}

template <class Sync>
int synced(int file, Sync sync) {
    if (!may_sync(file)) return -1;
    using Clock = std::chrono::steady_clock;
    const auto time = [] {
        return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
    };
    const auto began = time();
    const bool counts = block() && of_store(file);
    if (counts) block()->sync_since_us = began;
    const int result = sync(file);
    const auto took = time() - began;
    if (counts) block()->sync_since_us = 0;
    if (counts && took > block()->longest_sync_us.load()) block()->longest_sync_us = took;
    if (result == 0) {
        copy_synced(file);
        forget_deleted(file);
    }
    return result;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) {
    const int result = undated_clock(clock, time);
    if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) || !block()) return result;
    const std::int64_t ns = time->tv_nsec + block()->date_offset_ms.load() % 1'000 * ns_per_ms;
    time->tv_sec += block()->date_offset_ms.load() / 1'000 + (ns < 0 ? -1 : ns / ns_per_s);
    time->tv_nsec = (ns + ns_per_s) % ns_per_s;
    return 0;
}

int gettimeofday(timeval* time, void* zone) {
    static const auto call = real<int (*)(timeval*, void*)>("gettimeofday");
    const int result = call(time, zone);
    if (result == 0 && block()) time->tv_sec += block()->date_offset_ms.load() / 1'000;
    return result;
}

time_t time(time_t* out) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int fsync(int file) {
    static const auto call = real<int (*)(int)>("fsync");
    return synced(file, call);
}

int fdatasync(int file) {
    static const auto call = real<int (*)(int)>("fdatasync");
    return synced(file, call);
}

ssize_t write(int file, const void* bytes, size_t size) {
    static const auto call = real<ssize_t (*)(int, const void*, size_t)>("write");
    return full(file) ? -1 : call(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
    static const auto call = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
    return full(file) ? -1 : call(file, bytes, size, at);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
    static const auto call = real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
    return full(file) ? -1 : call(file, bytes, size, at);
}

int posix_fallocate(int file, off_t at, off_t size) {
    static const auto call = real<int (*)(int, off_t, off_t)>("posix_fallocate");
    return full(file) ? ENOSPC : call(file, at, size);
}
}
