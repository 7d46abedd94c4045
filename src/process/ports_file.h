// Tells whoever started the daemon where it listens, which matters when the ports were any free ones.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace muster {

// "127.0.0.1:11032" each; empty for a port that is not open.
struct BoundAddresses {
    std::string servers;
    std::string matchmakers;
    std::string players;
    std::string http;
};

// {"servers":"127.0.0.1:11032",…}, without those that are empty.
std::string to_json(const BoundAddresses& addresses);

// Says which file cannot be written and why.
class PortsFileError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The file while the daemon is ready: whoever finds it finds it whole. Never replaces or removes anything but an empty
// file or a ports file.
class PortsFile {
public:
    // Removes what an earlier run left. Throws PortsFileError when something else is there or nothing can be written,
    // so that this is known before any port is open.
    explicit PortsFile(std::filesystem::path path);
    // Removes what it wrote.
    ~PortsFile();
    PortsFile(const PortsFile&) = delete;
    PortsFile& operator=(const PortsFile&) = delete;

    // Throws PortsFileError.
    void write(const BoundAddresses& addresses);

private:
    void make_room() const;
    void write_draft(const std::string& text) const;

    std::filesystem::path path_;
    std::filesystem::path draft_;  // beside it, so that it can be renamed over it
    bool written_ = false;
};

}  // namespace muster
