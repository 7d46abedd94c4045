#include "daemon/game_config.h"

#include <doctest/doctest.h>

#include "base/log.h"
#include "base/no_log.h"
#include "base/system_clock.h"

using namespace muster;

TEST_CASE("L-1: the game thread serves its ports itself, unless threads are asked for, TLS or other nodes need one") {
    const SystemClock clock;
    NoLog nowhere;
    Log log(clock, nowhere);
    const auto threads = [&](const Config& config) { return network_config_of(config, {}, 100, log).threads; };
    Config config;
    CHECK(threads(config) == 0);
    config.tls.ports = {"http"};
    CHECK(threads(config) == 0);
    config.tls.ports = {"http", "players"};
    CHECK(threads(config) == 1);
    config.tls.ports = {};
    config.store.url = "postgresql://localhost/muster";
    CHECK(threads(config) == 1);
    config.net.threads = 3;
    CHECK(threads(config) == 3);
    config.store.url.clear();
    CHECK(threads(config) == 3);
}
