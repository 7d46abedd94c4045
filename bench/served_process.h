// A server program under measurement: started on free ports with a folder of its own, and gone afterwards.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace muster::bench {

// A new folder that goes with its object.
class ScratchFolder {
public:
    explicit ScratchFolder(const std::filesystem::path& parent);
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

// The program is told `--ports-file FILE` and writes there what it listens on, as `muster serve` does.
class ServedProcess {
public:
    // `environment` comes on top of ours, from which all MUSTER_ variables are taken out. Its standard error goes to a
    // file in `folder`. Throws std::runtime_error, with the end of that file, when it is not ready within `patience`.
    ServedProcess(std::vector<std::string> command, std::map<std::string, std::string> environment,
                  const std::filesystem::path& folder);
    // Ends it at once.
    ~ServedProcess();
    ServedProcess(const ServedProcess&) = delete;
    ServedProcess& operator=(const ServedProcess&) = delete;

    // Of the port named so in the ports file.
    std::uint16_t port(const std::string& name) const;

    // CPU time of all its threads so far, kernel and user.
    std::chrono::nanoseconds cpu() const;
    // The memory that it holds now.
    std::size_t resident_bytes() const { return status_bytes("VmRSS:"); }
    // The most memory that it held.
    std::size_t peak_bytes() const { return status_bytes("VmHWM:"); }

    // SIGTERM, and SIGKILL when it does not end. The exit code, or 128 and the signal.
    int stop();

private:
    void start();
    std::string log_end() const;
    std::size_t status_bytes(const char* key) const;

    std::vector<std::string> command_;
    std::map<std::string, std::string> environment_;
    std::filesystem::path ports_file_;
    std::filesystem::path log_file_;
    std::string ports_;
    pid_t pid_ = 0;
};

}  // namespace muster::bench
