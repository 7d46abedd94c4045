// Several nodes for `muster demo --nodes`: daemons that share a database.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/child_process.h"
#include "cli/demo_fleet.h"

namespace muster {

// Made and used by one thread.
class DemoNodes {
public:
    static constexpr std::int64_t count_max = 9;
    // A node that was killed is started again after so long.
    static constexpr std::chrono::seconds away{12};

    // `config` is that of a single daemon; the first node gets its HTTP address, the others free ones.
    DemoNodes(const std::filesystem::path& folder, std::map<std::string, std::string> config, std::size_t count,
              const std::string& url);

    // Waits until all have ports. False when `goes_on` said no before. Throws CommandFailure when one does not start.
    bool wait_until_ready(const std::function<bool()>& goes_on);

    // Addresses of all, as the SDK takes them.
    DemoPorts ports() const;
    // A line for each: its name, its page, and how to kill it.
    std::string listed() const;
    // {"name","url","pid"} of each, as a list.
    std::string listed_json() const;
    std::string first_url() const { return "http://" + nodes_.front().http; }

    // Starts again what was killed, and says what changed; empty when nothing did.
    std::string look_after();

private:
    using Moment = std::chrono::steady_clock::time_point;
    struct Node {
        std::string name{};
        std::filesystem::path folder{};
        std::map<std::string, std::string> config{};
        std::unique_ptr<ChildProcess> process{};
        Moment ended{};
        bool is_away = false;
        std::string servers{};
        std::string matchmakers{};
        std::string players{};
        std::string http{};
    };

    static void start(Node& node);
    static bool has_ports(Node& node);

    std::vector<Node> nodes_;
};

}  // namespace muster
