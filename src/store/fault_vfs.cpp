#include "store/fault_vfs.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <sqlite3.h>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::size_t sector_size = 512;

FaultVfs& owner_of(sqlite3_vfs* vfs) {
    return *static_cast<FaultVfs*>(vfs->pAppData);
}

sqlite3_vfs* real_vfs() {
    return sqlite3_vfs_find("unix");
}

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void put(std::string& file, std::size_t offset, std::string_view bytes) {
    if (file.size() < offset + bytes.size()) file.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

// What SQLite takes for an open file: ours, and behind it the real one.
struct FaultFile {
    sqlite3_file base;
    FaultVfs* owner;
    FaultVfs::Image* image;
    sqlite3_file* real;

    static FaultFile& of(sqlite3_file* file) { return *reinterpret_cast<FaultFile*>(file); }
    static const sqlite3_io_methods methods;

    static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
        FaultFile& opened = of(file);
        opened.base.pMethods = nullptr;
        opened.owner = &owner_of(vfs);
        opened.real = reinterpret_cast<sqlite3_file*>(&opened + 1);
        const int result = real_vfs()->xOpen(real_vfs(), path, opened.real, flags, out_flags);
        if (result != SQLITE_OK) return result;
        opened.image = &opened.owner->image_of(path ? path : "");
        opened.base.pMethods = &methods;
        return SQLITE_OK;
    }
    static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
        owner_of(vfs).forget(path);
        return real_vfs()->xDelete(real_vfs(), path, sync_directory);
    }
    static int close(sqlite3_file* file) { return of(file).real->pMethods->xClose(of(file).real); }
    static int read(sqlite3_file* file, void* bytes, int count, sqlite3_int64 offset) {
        return of(file).real->pMethods->xRead(of(file).real, bytes, count, offset);
    }
    static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
        FaultFile& self = of(file);
        self.owner->announce();
        const int refused = self.owner->admit_write(*self.image, offset, bytes, count);
        return refused != SQLITE_OK ? refused : self.real->pMethods->xWrite(self.real, bytes, count, offset);
    }
    static int truncate(sqlite3_file* file, sqlite3_int64 size) {
        FaultFile& self = of(file);
        self.owner->announce();
        self.owner->cut(*self.image, size);
        return self.real->pMethods->xTruncate(self.real, size);
    }
    static int sync(sqlite3_file* file, int flags) {
        FaultFile& self = of(file);
        self.owner->announce();
        if (const int refused = self.owner->admit_sync(*self.image); refused != SQLITE_OK) return refused;
        // The real disk is spared: what counts as synced here is what the image says.
        static_cast<void>(flags);
        self.owner->synced(*self.image);
        return SQLITE_OK;
    }
    static int file_size(sqlite3_file* file, sqlite3_int64* size) {
        return of(file).real->pMethods->xFileSize(of(file).real, size);
    }
    static int lock(sqlite3_file* file, int level) { return of(file).real->pMethods->xLock(of(file).real, level); }
    static int unlock(sqlite3_file* file, int level) { return of(file).real->pMethods->xUnlock(of(file).real, level); }
    static int check_reserved_lock(sqlite3_file* file, int* reserved) {
        return of(file).real->pMethods->xCheckReservedLock(of(file).real, reserved);
    }
    static int file_control(sqlite3_file* file, int operation, void* argument) {
        if (operation == SQLITE_FCNTL_LAST_ERRNO) {
            *static_cast<int*>(argument) = of(file).image->last_errno;
            return SQLITE_OK;
        }
        return of(file).real->pMethods->xFileControl(of(file).real, operation, argument);
    }
    static int sector(sqlite3_file* file) { return of(file).real->pMethods->xSectorSize(of(file).real); }
    static int characteristics(sqlite3_file* file) {
        return of(file).real->pMethods->xDeviceCharacteristics(of(file).real);
    }
    static int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
        return of(file).real->pMethods->xShmMap(of(file).real, region, size, extend, memory);
    }
    static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
        return of(file).real->pMethods->xShmLock(of(file).real, offset, count, flags);
    }
    static void shm_barrier(sqlite3_file* file) { of(file).real->pMethods->xShmBarrier(of(file).real); }
    static int shm_unmap(sqlite3_file* file, int remove_file) {
        return of(file).real->pMethods->xShmUnmap(of(file).real, remove_file);
    }
};

// Version 2: with shared memory for the write-ahead log, without memory-mapped reading.
const sqlite3_io_methods FaultFile::methods{.iVersion = 2,
                                            .xClose = close,
                                            .xRead = read,
                                            .xWrite = write,
                                            .xTruncate = truncate,
                                            .xSync = sync,
                                            .xFileSize = file_size,
                                            .xLock = lock,
                                            .xUnlock = unlock,
                                            .xCheckReservedLock = check_reserved_lock,
                                            .xFileControl = file_control,
                                            .xSectorSize = sector,
                                            .xDeviceCharacteristics = characteristics,
                                            .xShmMap = shm_map,
                                            .xShmLock = shm_lock,
                                            .xShmBarrier = shm_barrier,
                                            .xShmUnmap = shm_unmap,
                                            .xFetch = nullptr,
                                            .xUnfetch = nullptr};

FaultVfs::FaultVfs() {
    static std::atomic<int> made{0};
    name_ = "fault-" + std::to_string(++made);
    vfs_ = std::make_unique<sqlite3_vfs>(*real_vfs());
    vfs_->pNext = nullptr;
    vfs_->zName = name_.c_str();
    vfs_->pAppData = this;
    vfs_->szOsFile = static_cast<int>(sizeof(FaultFile)) + real_vfs()->szOsFile;
    vfs_->xOpen = FaultFile::open;
    vfs_->xDelete = FaultFile::remove;
    MUSTER_CHECK(sqlite3_vfs_register(vfs_.get(), 0) == SQLITE_OK, "the name is new");
}

FaultVfs::~FaultVfs() {
    sqlite3_vfs_unregister(vfs_.get());
}

void FaultVfs::fail_syncs(bool fail) {
    const std::lock_guard lock(mutex_);
    syncs_fail_ = fail;
}

void FaultVfs::set_room(std::optional<std::int64_t> bytes, FullDisk shows_as) {
    const std::lock_guard lock(mutex_);
    room_ = bytes;
    shows_as_ = shows_as;
}

void FaultVfs::hold_syncs() {
    const std::lock_guard lock(mutex_);
    syncs_held_ = true;
}

void FaultVfs::let_syncs_go() {
    const std::lock_guard lock(mutex_);
    syncs_held_ = false;
    sync_released_.notify_all();
}

void FaultVfs::wait_for_held_sync() {
    std::unique_lock lock(mutex_);
    sync_held_.wait(lock, [&] { return held_ > 0; });
}

void FaultVfs::before_each_operation(std::function<void()> call) {
    const std::lock_guard lock(mutex_);
    before_operation_ = std::move(call);
}

std::uint64_t FaultVfs::syncs() const {
    const std::lock_guard lock(mutex_);
    return syncs_;
}

void FaultVfs::lose_power(const std::filesystem::path& directory, Random& random) const {
    const std::lock_guard lock(mutex_);
    // From a disk that lost all that was not synced to one that had written nearly everything.
    const double share = random.unit();
    for (const auto& [path, image] : images_) {
        if (!image.exists) continue;
        std::string left = image.synced;
        for (const Change& change : image.unsynced) {
            const auto offset = static_cast<std::size_t>(change.offset);
            if (!change.bytes) {
                if (random.chance(share)) left.resize(offset);
                continue;
            }
            const std::string_view bytes = *change.bytes;
            for (std::size_t done = 0; done < bytes.size();) {
                const std::size_t in_sector = sector_size - (offset + done) % sector_size;
                const std::string_view part = bytes.substr(done, in_sector);
                if (random.chance(share)) put(left, offset + done, part);
                done += part.size();
            }
        }
        std::ofstream file(directory / std::filesystem::path(path).filename(), std::ios::binary);
        file.write(left.data(), static_cast<std::streamsize>(left.size()));
    }
}

FaultVfs::Image& FaultVfs::image_of(const std::string& path) {
    const std::lock_guard lock(mutex_);
    Image& image = images_[path];
    if (!image.exists) {
        image.exists = true;
        image.synced = content_of(path);
        image.size = static_cast<std::int64_t>(image.synced.size());
    }
    return image;
}

void FaultVfs::forget(const std::string& path) {
    const std::lock_guard lock(mutex_);
    images_[path] = Image{};
}

void FaultVfs::announce() {
    std::function<void()> call;
    {
        const std::lock_guard lock(mutex_);
        call = before_operation_;
    }
    if (call) call();
}

int FaultVfs::admit_write(Image& image, std::int64_t offset, const void* bytes, int count) {
    const std::lock_guard lock(mutex_);
    const std::int64_t growth = std::max<std::int64_t>(0, offset + count - image.size);
    if (room_ && growth > *room_) {
        image.last_errno = ENOSPC;
        return shows_as_ == FullDisk::code ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    if (room_) *room_ -= growth;
    image.size += growth;
    const auto* first = static_cast<const char*>(bytes);
    image.unsynced.push_back({offset, std::string(first, first + count)});
    return SQLITE_OK;
}

int FaultVfs::admit_sync(Image& image) {
    std::unique_lock lock(mutex_);
    if (syncs_held_) {
        ++held_;
        sync_held_.notify_all();
        sync_released_.wait(lock, [&] { return !syncs_held_; });
        --held_;
    }
    ++syncs_;
    if (!syncs_fail_) return SQLITE_OK;
    image.last_errno = EIO;
    image.unsynced.clear();
    return SQLITE_IOERR_FSYNC;
}

void FaultVfs::cut(Image& image, std::int64_t size) {
    const std::lock_guard lock(mutex_);
    if (room_) *room_ += std::max<std::int64_t>(0, image.size - size);
    image.size = size;
    image.unsynced.push_back({size, std::nullopt});
}

void FaultVfs::synced(Image& image) {
    const std::lock_guard lock(mutex_);
    for (const Change& change : image.unsynced) {
        const auto offset = static_cast<std::size_t>(change.offset);
        if (change.bytes) {
            put(image.synced, offset, *change.bytes);
        } else {
            image.synced.resize(offset);
        }
    }
    image.unsynced.clear();
}

}  // namespace muster
