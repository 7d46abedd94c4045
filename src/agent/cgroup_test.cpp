#include "agent/cgroup.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "testing/test_folder.h"

namespace muster {
namespace {

constexpr std::string_view unified =
    "24 1 0:22 / /proc rw - proc proc rw\n"
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr std::string_view hybrid =
    "31 24 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"
    "32 31 0:28 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw\n"
    "33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";

TEST_CASE("G-6: the agent's own cgroup is found wherever cgroup v2 is mounted") {
    CHECK(own_cgroup(unified, "0::/system.slice/muster-agent.service\n") ==
          "/sys/fs/cgroup/system.slice/muster-agent.service");
    CHECK(own_cgroup(unified, "0::/\n") == "/sys/fs/cgroup");
    CHECK(own_cgroup(hybrid, "9:name=systemd:/x\n1:cpu:/y\n0::/z\n") == "/sys/fs/cgroup/unified/z");
    // Of a container that sees only its own part.
    CHECK(own_cgroup("9 1 0:26 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/ab/c\n") ==
          "/sys/fs/cgroup/c");
}

TEST_CASE("G-6: without cgroup v2 there is none") {
    CHECK_FALSE(own_cgroup(unified, "1:cpu:/y\n"));
    CHECK_FALSE(own_cgroup("33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "0::/\n"));
    CHECK_FALSE(own_cgroup("", ""));
    CHECK_FALSE(own_cgroup("garbage - cgroup2 ", "10::/x"));
}

TEST_CASE("G-6: an agent that may make no cgroup says why") {
    const Cgroups cgroups("a-test-of-cgroups", "1");
    CHECK(cgroups.usable() == cgroups.why_not().empty());
}

TEST_CASE("G-6: cgroups that agents left empty are known by their name, and others are left alone") {
    const TestFolder folder;
    const UnixMs now{1'800'000'000'000};
    const auto made = [&](const std::string& name, int seconds_ago, const char* events = "populated 0\nfrozen 0\n") {
        std::filesystem::create_directory(folder.path() / name);
        folder.write(name + "/cgroup.events", events);
        const auto written = std::chrono::file_clock::from_sys(
            std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(now.value)) -
            std::chrono::seconds(seconds_ago));
        std::filesystem::last_write_time(folder.path() / name, written);
        return folder.path() / name;
    };
    const std::string id = "005e6af5-5979-444b-a4a0-ec34a28cd753";
    const auto left = made("muster-host-1-" + id + "-arena-1-d7ac7fba0aff00c34f066491d518eba7", 61);
    const auto of_old_agent = made("muster-host-1-" + id + "-arena-2", 99'999);
    made("muster-host-1-" + id + "-arena-3", 60);                       // perhaps its process is on its way
    made("muster-host-1-" + id + "-arena-4", 99'999, "populated 1\n");  // somebody is in it
    made("muster-host-1-" + id + "-arena-5", 99'999, "");               // no cgroup
    made("muster-" + id + "-arena-6", 99'999);
    made("muster-agent.service", 99'999);
    made("muster-host-1-005e6af5-5979-444b-a4a0-EC34A28CD753-arena-7", 99'999);
    made("game-host-1-" + id + "-arena-8", 99'999);
    auto found = abandoned_cgroups(folder.path(), now);
    std::sort(found.begin(), found.end());
    CHECK(found == std::vector{left, of_old_agent});
    CHECK(abandoned_cgroups(folder.path() / "none", now).empty());
}

}  // namespace
}  // namespace muster
