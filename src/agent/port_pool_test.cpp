#include "agent/port_pool.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

TEST_CASE("G-4: no port is given twice and a returned one comes last") {
    PortPool pool({7000, 7002});
    CHECK(pool.take() == 7000);
    CHECK(pool.take() == 7001);
    pool.give_back(7000);
    CHECK(pool.take() == 7002);
    CHECK(pool.take() == 7000);
    CHECK(pool.take() == std::nullopt);
    CHECK(pool.taken() == 3);
}

TEST_CASE("G-4: the highest port there is can be given") {
    PortPool pool({65535, 65535});
    CHECK(pool.take() == 65535);
    CHECK(pool.take() == std::nullopt);
    pool.give_back(65535);
    CHECK(pool.take() == 65535);
}

TEST_CASE("G-7: a claimed port is not given and cannot be claimed twice") {
    PortPool pool({7000, 7001});
    CHECK(pool.claim(7000));
    CHECK_FALSE(pool.claim(7000));
    CHECK(pool.claim(9000));  // of an earlier config
    CHECK(pool.take() == 7001);
    CHECK(pool.take() == std::nullopt);
}

TEST_CASE("G-11: a new range gives its own ports and old ones stay taken") {
    PortPool pool({7000, 7001});
    CHECK(pool.take() == 7000);
    pool.set_range({7000, 7003});
    CHECK(pool.take() == 7001);
    pool.set_range({8000, 8000});
    CHECK(pool.take() == 8000);
    CHECK(pool.take() == std::nullopt);
}

}  // namespace
}  // namespace muster
