#include "http/host_check.h"

#include <vector>

#include <doctest/doctest.h>

using namespace muster;

namespace {

const std::vector<std::string> further{"muster.example", "fleet"};

bool known(std::string_view host) {
    return host_is_known(host, further);
}

}  // namespace

TEST_CASE("fault 70: a Host is known when it is localhost, an IP literal, or one that the config names") {
    for (const char* good : {"localhost", "LocalHost:11030", "192.0.2.7", "192.0.2.7:11030", "192.0.2.7:", "0.0.0.0:80",
                             "[::1]:11030", "[0::1]", "muster.example", "Muster.Example:443", "fleet:8080"})
        CHECK_MESSAGE(known(good), good);
    for (const char* bad : {"",
                            ":80",
                            "evil.example",
                            "evil.example:11030",
                            "localhost.evil.example",
                            "192.0.2.7.evil.example",
                            "192.0.2.7:80:80",
                            "192.0.2.7:x",
                            "192.0.2.7:123456",
                            "[192.0.2.7",
                            "localhost@evil.example",
                            "localhost:80@evil.example",
                            "::1",
                            "[",
                            "[]",
                            " localhost",
                            "[::1]x",
                            "192.0.2",
                            "0x7f.1",
                            "2130706433",
                            "muster.example.evil.example",
                            "a.muster.example",
                            "muster.example."})
        CHECK_FALSE_MESSAGE(known(bad), bad);
    CHECK_FALSE(known(std::string(10'000, 'a')));
}

TEST_CASE("fault 70: without further names only localhost and IP literals are known") {
    CHECK(host_is_known("localhost", {}));
    CHECK(host_is_known("10.0.0.1:11030", {}));
    CHECK_FALSE(host_is_known("fleet", {}));
}
