#include "daemon/figures_line.h"

#include <doctest/doctest.h>

#include "core/player_fixture.h"

namespace muster {
namespace {

using namespace muster::testing;

TEST_CASE_FIXTURE(CoreWorld, "P-9: every interval the log says players, passes, their time and messages") {
    const FiguresLine line(log, loop, *core, 10s);
    const TestPlayer ann = log_in(*this, "ann");
    for (int i = 0; i < 45; ++i) send(ann.link, PlayerActivity{});
    log_lines.lines.clear();
    advance(9'999ms);
    CHECK_FALSE(log_lines.has("Server: "));
    advance(1ms);
    REQUIRE(log_lines.has("Server: 1 players, "));
    CHECK(log_lines.has(" TPS, 0.00ms avg tick, 5 msg/s"));
    advance(10s);
    CHECK(log_lines.has(" TPS, 0.00ms avg tick, 0 msg/s"));
}

}  // namespace
}  // namespace muster
