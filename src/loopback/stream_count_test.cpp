#include "loopback/stream_count.h"

#include <string>

#include <doctest/doctest.h>

#include "testing/http2_bytes.h"

using namespace muster;

TEST_CASE("G-20: streams are counted wherever the bytes are cut") {
    const std::string bytes = http2_preface + http2_frame(4, 0, "") + http2_frame(1, 1, std::string(300, '\1')) +
                              http2_frame(0, 1, std::string(70'000, '\1')) + http2_frame(1, 3, "") +
                              http2_frame(3, 3, "\0\0\0\x08") + http2_frame(1, 5, "x");
    for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
        StreamCount count;
        std::size_t streams = 0;
        for (std::size_t at = 0; at < bytes.size(); at += piece)
            streams += count.take(std::string_view(bytes).substr(at, piece));
        CHECK(streams == 3);
    }
}

TEST_CASE("G-20: a frame that never ends is one frame") {
    StreamCount count;
    CHECK(count.take(http2_preface + std::string("\xff\xff\xff\x01\0\0\0\0\1", 9)) == 1);
    for (int i = 0; i < 100; ++i) CHECK(count.take(std::string(1000, '\1')) == 0);
}
