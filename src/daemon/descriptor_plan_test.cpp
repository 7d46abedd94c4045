#include "daemon/descriptor_plan.h"

#include <doctest/doctest.h>

#include "http/http_server.h"

using namespace muster;

TEST_CASE("S-7: where there are files enough, nothing is said and HTTP gets all it may use") {
    const DescriptorPlan plan = plan_descriptors(Config{}, 524'288);
    CHECK_FALSE(plan.warning);
    CHECK(plan.http_connections == static_cast<std::size_t>(Config{}.limits.http_connections));
    CHECK(plan.game_connections >= 3 * 100'000);
}

TEST_CASE("S-7: a low limit leaves room for our own files and for operators, and is said") {
    for (const std::size_t open_files : {16U, 64U, 256U, 1'024U, 4'096U}) {
        CAPTURE(open_files);
        const DescriptorPlan plan = plan_descriptors(Config{}, open_files);
        CHECK(plan.http_connections >= open_files / 8);
        CHECK(plan.game_connections >= open_files / 4);
        CHECK(plan.game_connections + plan.http_connections <= open_files - std::min<std::size_t>(64, open_files / 2));
        REQUIRE(plan.warning);
        CHECK(plan.warning->find("limits.connections_per_port is 100000") != std::string::npos);
    }
}

TEST_CASE("S-7: a config that asks for no more than there is needs no warning") {
    Config config;
    config.limits.connections_per_port = 250;
    CHECK_FALSE(plan_descriptors(config, 1'024).warning);
    config.limits.connections_per_port = 300;
    CHECK(plan_descriptors(config, 1'024).warning);
}
