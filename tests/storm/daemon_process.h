// The daemon under attack: one store, one life after another, and the faults of its machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "fault_block.h"
#include "moment.h"

namespace muster::storm {

struct Ports {
    std::uint16_t servers = 0;
    std::uint16_t matchmakers = 0;
    std::uint16_t players = 0;
    std::uint16_t http = 0;
};

// What the machine's tables say of the process.
struct Footprint {
    std::size_t memory_bytes = 0;  // resident
    std::size_t descriptors = 0;
};

// One thread. Nothing here waits.
class DaemonProcess {
public:
    using Settings = std::map<std::string, std::string>;

    // `folder` exists and outlives it. The preload library may be empty: then the machine has no faults.
    DaemonProcess(std::filesystem::path program, const std::filesystem::path& preload, std::filesystem::path folder);
    // Ends it at once.
    ~DaemonProcess();
    DaemonProcess(const DaemonProcess&) = delete;
    DaemonProcess& operator=(const DaemonProcess&) = delete;

    // A new life on free ports, with these MUSTER_ variables. The one before must have ended.
    void start(const Settings& settings);
    // True once it has written its ports file, which says where it listens.
    bool ready();
    const Ports& ports() const { return ports_; }

    void send_signal(int signal) const;
    // How it ended: the exit code, or 128 and the signal. Nothing while it runs.
    std::optional<int> ended();
    bool runs() const { return pid_ > 0; }

    // So many descriptors it may have from now on; how many it was allowed before.
    std::size_t limit_descriptors(std::size_t most) const;
    std::optional<Footprint> footprint() const;
    // Of the store's files together.
    std::size_t store_bytes() const;

    FaultBlock& faults() { return *faults_; }
    // The last lines that it logged.
    std::string log_end() const;
    const std::filesystem::path& folder() const { return folder_; }

private:
    std::filesystem::path program_;
    std::filesystem::path folder_;
    std::filesystem::path ports_file_;
    Settings machine_;  // what the preload library needs
    int faults_file_;   // in memory; open for as long as the daemon may start
    FaultBlock* faults_;
    Ports ports_;
    pid_t pid_ = 0;
};

}  // namespace muster::storm
