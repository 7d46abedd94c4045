// A PostgreSQL of the demo's own, with a synchronous standby (`muster demo --nodes`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/child_process.h"

namespace muster {

// Debian's package, with its data in a folder of the demo's. Ends with its object. Made and used by one thread.
class DemoEngine {
public:
    // Waits until both answer, for as long as `goes_on` says so. Throws CommandFailure, which says what to install when
    // there is none.
    DemoEngine(const std::filesystem::path& folder, const std::function<bool()>& goes_on);

    // Of whichever of the two takes writes.
    std::string url() const;

private:
    // One of the two, on its own port.
    struct Server {
        std::uint16_t port = 0;
        std::unique_ptr<ChildProcess> process{};
    };

    void make_primary();
    void make_standby();
    void start(Server& server, const std::filesystem::path& data);
    // Until the command ends well; false when `goes_on` said no before. Throws CommandFailure.
    bool wait_until(const std::vector<std::string>& command, const std::function<bool()>& goes_on);
    std::vector<std::string> asks_whether_ready(const Server& server) const;
    std::vector<std::string> asks_whether_followed() const;
    void run(std::vector<std::string> command, const char* what);
    std::string program(const char* name) const { return (programs_ / name).string(); }
    std::filesystem::path primary_data() const { return folder_ / "data"; }
    std::filesystem::path standby_data() const { return folder_ / "standby"; }

    const std::filesystem::path programs_;
    const std::filesystem::path folder_;
    const std::filesystem::path log_;
    Server primary_;
    Server standby_;  // ends first
};

// Starts a program whose output is appended to `log`, without our MUSTER_ variables. Throws CommandFailure.
std::unique_ptr<ChildProcess> begin_logged(std::vector<std::string> command, const std::filesystem::path& log,
                                           std::map<std::string, std::string> environment = {});

// A file's whole text; empty when there is none.
std::string content_of(const std::filesystem::path& path);

}  // namespace muster
