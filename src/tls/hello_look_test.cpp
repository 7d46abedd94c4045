#include "tls/hello_look.h"

#include <vector>

#include <doctest/doctest.h>

using namespace muster;

namespace {

HelloLook look(std::vector<int> bytes) {
    std::vector<std::byte> all;
    for (const int byte : bytes) all.push_back(static_cast<std::byte>(byte));
    return look_at_hello(all);
}

}  // namespace

TEST_CASE("fault 75: bytes that are no TLS are known by the first of them that is wrong") {
    CHECK(look({}).kind == HelloLook::Kind::too_few);
    CHECK(look({'G'}).kind == HelloLook::Kind::not_tls);
    CHECK(look({0x16}).kind == HelloLook::Kind::too_few);
    CHECK(look({0x16, 0x02}).kind == HelloLook::Kind::not_tls);
    CHECK(look({0x16, 3, 1, 0, 9, 1, 0, 0}).kind == HelloLook::Kind::too_few);
}

TEST_CASE("fault 75: how many bytes a hello has is said by its record or by itself, whichever is more") {
    CHECK(look({0x16, 3, 1, 1, 4, 1, 0, 1, 0}).kind == HelloLook::Kind::good);
    CHECK(look({0x16, 3, 1, 1, 4, 1, 0, 1, 0}).whole == 5 + 260);
    CHECK(look({0x16, 3, 1, 0, 4, 1, 0, 1, 0}).whole == 9 + 256);
    CHECK(look({0x16, 3, 1, 0, 3, 1, 0, 1, 0}).kind == HelloLook::Kind::unreasonable);
    CHECK(look({0x16, 3, 1, 0x40, 0, 1, 0, 0x40, 0}).kind == HelloLook::Kind::good);
    CHECK(look({0x16, 3, 1, 0x40, 0, 1, 0, 0x40, 0}).whole == HelloLook::whole_max);
    CHECK(look({0x16, 3, 1, 0x40, 0, 1, 0, 0x40, 1}).kind == HelloLook::Kind::unreasonable);
    CHECK(look({0x16, 3, 1, 0x40, 1, 1, 0, 0x40, 0}).kind == HelloLook::Kind::unreasonable);
}
