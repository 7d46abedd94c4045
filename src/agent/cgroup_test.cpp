#include "agent/cgroup.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace muster
