// Every field of every message with values that it must not have, found by way of the layouts.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/codec.h"
#include "protocol/messages.h"
#include "protocol/sample_frames.h"

using namespace muster;
using namespace std::string_view_literals;
using Kind = FieldPlace::Kind;

namespace {

// A good payload, and a field in it to spoil.
struct FieldCase {
    const SampleFrame* sample;
    FieldPlace place;
    Bytes payload;

    void put(std::int64_t number) {
        for (std::size_t i = 0; i < place.number_size; ++i) {
            const std::size_t shift = 8 * (sample->order == ByteOrder::little ? i : place.number_size - 1 - i);
            payload[place.offset + i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> shift);
        }
    }

    // Replaces a text's bytes and its count.
    void put(std::string_view text) {
        const auto begin = payload.begin() + static_cast<std::ptrdiff_t>(place.offset + 2);
        const auto tail = payload.erase(begin, begin + static_cast<std::ptrdiff_t>(place.text_size));
        const auto bytes = std::as_bytes(std::span(text));
        payload.insert(tail, bytes.begin(), bytes.end());
        place.text_size = text.size();
        put(static_cast<std::int64_t>(text.size()));
    }

    std::optional<WireError> fault() const { return sample->fault(payload, sample->order); }
};

// The fields of that kind in all samples of all messages.
std::vector<FieldCase> fields(Kind kind) {
    constexpr std::size_t frame_max = 4'096;  // longer lists repeat what shorter ones show
    std::vector<FieldCase> found;
    for (const SampleFrame& sample : sample_frames()) {
        if (sample.frame.size() > frame_max) continue;
        for (const FieldPlace& place : sample.places) {
            if (place.kind != kind) continue;
            found.push_back({&sample, place, Bytes(sample.payload().begin(), sample.payload().end())});
        }
    }
    REQUIRE_FALSE(found.empty());
    return found;
}

std::optional<WireError> bad_value_unless(bool good) {
    return good ? std::nullopt : std::optional(WireError::bad_value);
}

}  // namespace

TEST_CASE("W-5: a flag of 2 to 255 is a bad value in every message") {
    for (FieldCase& field : fields(Kind::flag)) {
        CAPTURE(field.sample->name);
        for (int value = 0; value < 256; ++value) {
            field.put(value);
            REQUIRE(field.fault() == bad_value_unless(value < 2));
        }
    }
}

TEST_CASE("W-5: an answer's form of 2 to 255 is a bad value") {
    // The other form has another layout, so that these bytes may be anything to it.
    for (FieldCase& field : fields(Kind::form)) {
        CAPTURE(field.sample->name);
        REQUIRE(field.fault() == std::nullopt);
        for (int value = 2; value < 256; ++value) {
            field.put(value);
            REQUIRE(field.fault() == WireError::bad_value);
        }
    }
}

TEST_CASE("W-5: a flag that is always set is a bad value when it is not 1") {
    for (FieldCase& field : fields(Kind::always_set)) {
        CAPTURE(field.sample->name);
        for (int value = 0; value < 256; ++value) {
            field.put(value);
            REQUIRE(field.fault() == bad_value_unless(value == 1));
        }
    }
}

TEST_CASE("W-5, fault 43: of the 256 values of an enum only the declared ones pass") {
    for (FieldCase& field : fields(Kind::enumerated)) {
        CAPTURE(field.sample->name);
        REQUIRE(field.place.number_size == 1);
        for (int value = 0; value < 256; ++value) {
            field.put(value);
            REQUIRE(field.fault() == bad_value_unless(value >= field.place.first && value <= field.place.last));
        }
    }
}

TEST_CASE("W-5, fault 43, fault 44: any bits of a plain number pass the decoder and come back") {
    constexpr std::int64_t quiet_nan = 0x7FC0'0000;
    constexpr std::int64_t signalling_nan = 0x7F80'0001;
    constexpr std::int64_t infinity = 0xFF80'0000;
    for (FieldCase& field : fields(Kind::number)) {
        CAPTURE(field.sample->name);
        for (const std::int64_t number : {INT64_MIN, INT64_MAX, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX},
                                          std::int64_t{-1}, std::int64_t{0}, quiet_nan, signalling_nan, infinity}) {
            field.put(number);
            const Bytes again = field.sample->encoded_again(field.payload, field.sample->order);
            REQUIRE(again.size() == field.sample->frame.size());
            REQUIRE(std::equal(field.payload.begin(), field.payload.end(), again.begin() + frame_head_size));
        }
    }
}

TEST_CASE("W-2, fault 45: a string may be empty or its longest, and one over is too long") {
    for (FieldCase& field : fields(Kind::text)) {
        CAPTURE(field.sample->name);
        const std::size_t most = field.place.text_size_max;
        field.put("");
        REQUIRE(field.fault() == std::nullopt);
        field.put(std::string(most, 'x'));
        REQUIRE(field.fault() == std::nullopt);
        field.put(std::string(most + 1, 'x'));
        REQUIRE(field.fault() == WireError::string_too_long);
        field.put(std::string(most + 1, '\xFF'));
        REQUIRE(field.fault() == WireError::string_too_long);
    }
}

TEST_CASE("W-2: a string that says it is too long is refused so, although its bytes are not there") {
    for (FieldCase& field : fields(Kind::text)) {
        CAPTURE(field.sample->name);
        for (const std::size_t size : {field.place.text_size_max + 1, std::size_t{65'535}}) {
            field.put(static_cast<std::int64_t>(size));
            REQUIRE(field.fault() == WireError::string_too_long);
        }
    }
}

TEST_CASE("W-5, fault 45: bytes that are not UTF-8 are refused in every string") {
    for (FieldCase& field : fields(Kind::text)) {
        CAPTURE(field.sample->name);
        for (const std::string_view text : {
                 "\xFF"sv,              // never in UTF-8
                 "\x80"sv,              // a continuation without a start
                 "\xC3"sv,              // a start without a continuation
                 "\xC0\x80"sv,          // an overlong NUL
                 "\xE0\x80\xAF"sv,      // an overlong slash
                 "\xED\xA0\x80"sv,      // half a surrogate pair
                 "\xF4\x90\x80\x80"sv,  // above U+10FFFF
                 "\xF8\x88\x80\x80\x80"sv,
             }) {
            field.put(text);
            REQUIRE(field.fault() == WireError::invalid_utf8);
        }
    }
}

TEST_CASE("fault 45: NUL, controls and signs pass the decoder, since who may not have them is judged elsewhere") {
    for (FieldCase& field : fields(Kind::text)) {
        CAPTURE(field.sample->name);
        for (const std::string_view text : {"\0\x01\x1B[0m"sv, "<b>%n'"sv, "\xF0\x9F\x8E\xAE"sv}) {
            field.put(text);
            REQUIRE(field.fault() == std::nullopt);
        }
    }
}

TEST_CASE("W-5: a negative count is a bad value, and one that the bytes cannot hold is truncated") {
    for (FieldCase& field : fields(Kind::list)) {
        CAPTURE(field.sample->name);
        const bool is_byte = field.place.number_size == 1;
        for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{is_byte ? INT8_MIN : INT32_MIN}}) {
            field.put(count);
            REQUIRE(field.fault() == WireError::bad_value);
        }
        if (is_byte) continue;
        for (const std::int64_t count : {std::int64_t{INT32_MAX}, std::int64_t{70'000}}) {
            field.put(count);
            REQUIRE(field.fault() == WireError::truncated);
        }
    }
}

TEST_CASE("W-5: a count of two thousand million allocates nothing") {
    const auto fault = [](const Bytes& payload) -> std::optional<WireError> {
        const auto decoded = decode<MatchmakerHandshakeResponse>(payload, ByteOrder::little);
        return decoded ? std::nullopt : std::optional(decoded.error());
    };
    // Accepted, a time, a count of INT32_MAX, and no server.
    Bytes payload(1 + 8 + 4);
    payload[0] = std::byte{1};
    payload[9] = payload[10] = payload[11] = std::byte{0xFF};
    payload[12] = std::byte{0x7F};
    CHECK(fault(payload) == WireError::truncated);
    // Room for two servers of 15 bytes, the least that one takes; then the first says that its ip is longer.
    payload.resize(payload.size() + 30);
    payload[9] = std::byte{2};
    payload[10] = payload[11] = payload[12] = std::byte{0};
    CHECK(fault(payload) == std::nullopt);
    payload[13 + 4] = std::byte{45};
    CHECK(fault(payload) == WireError::truncated);
}
