#include "base/byte_buffer.h"

#include <array>
#include <cstdint>
#include <utility>

#include <doctest/doctest.h>

namespace muster {
namespace {

constexpr std::array three{std::byte{1}, std::byte{2}, std::byte{3}};

TEST_CASE("a byte buffer keeps what was appended, in order, while it grows") {
    ByteBuffer bytes;
    CHECK(bytes.empty());
    for (int i = 0; i < 1'000; ++i) bytes.append(three);
    REQUIRE(bytes.size() == 3'000);
    bool all_there = true;
    for (std::size_t i = 0; i < bytes.size(); ++i) all_there = all_there && bytes.view()[i] == three[i % 3];
    CHECK(all_there);
    CHECK(bytes.capacity() < 2 * 3'000);
}

TEST_CASE("a byte buffer that is cleared keeps its memory, and one that is moved from has none") {
    ByteBuffer bytes;
    bytes.append(three);
    const std::byte* memory = bytes.data();
    bytes.clear();
    bytes.append({});
    CHECK(bytes.empty());
    *bytes.extend(1) = std::byte{9};
    CHECK(bytes.data() == memory);

    ByteBuffer taken = std::move(bytes);
    CHECK(taken.size() == 1);
    CHECK(taken.view()[0] == std::byte{9});
    bytes = ByteBuffer();
    CHECK(bytes.capacity() == 0);
}

}  // namespace
}  // namespace muster
