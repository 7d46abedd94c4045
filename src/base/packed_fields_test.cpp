#include "base/packed_fields.h"

#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "base/json_fields.h"
#include "base/random.h"
#include "base/varint.h"

using namespace muster;

namespace {

void describe(FieldSink& out) {
    out.integer("lobby_id", 12345);
    out.integer("least", std::numeric_limits<std::int64_t>::min());
    out.real("seconds", 1.25);
    out.text("reason", "a \"quoted\" reason");
    out.text("empty", "");
    out.flag("yes", true);
    out.flag("no", false);
    out.begin_object("inside");
    out.integer("server_id", 7);
    out.begin_list("list");
    out.integer({}, -1);
    out.text({}, "two");
    out.end_list();
    out.end_object();
    out.integer("last", -2);
}

std::string packed() {
    PackedFields fields;
    describe(fields);
    return fields.finish();
}

}  // namespace

TEST_CASE("B-3: packed fields give the same JSON as the fields themselves") {
    JsonFields json;
    describe(json);
    CHECK(packed_to_json(packed()) == json.finish());
    CHECK(packed_to_json("") == "{}");
}

TEST_CASE("B-3: an integer is found by its name and value, outside of groups") {
    CHECK(has_integer(packed(), "lobby_id", 12345));
    CHECK(has_integer(packed(), "last", -2));
    CHECK_FALSE(has_integer(packed(), "lobby_id", 1234));
    CHECK_FALSE(has_integer(packed(), "lobby", 12345));
    CHECK_FALSE(has_integer(packed(), "server_id", 7));
}

TEST_CASE("B-3: packed fields that were cut or spoilt end where they are no fields, and read nothing beyond") {
    const std::string whole = packed();
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::string cut(whole, 0, length);
        CHECK(packed_to_json(cut).back() == '}');
    }
    Random random(5);
    for (int i = 0; i < 10'000; ++i) {
        std::string spoilt = whole;
        spoilt[random.below(spoilt.size())] = static_cast<char>(random.below(256));
        static_cast<void>(packed_to_json(spoilt));
        static_cast<void>(has_integer(spoilt, "last", -2));
    }
}

TEST_CASE("B-3: a varint gives back every number, and refuses one that is cut or too long") {
    for (const std::int64_t value :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{-64}, std::int64_t{64},
          std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        std::string bytes;
        put_varint(bytes, zigzag(value));
        std::string_view rest = bytes;
        std::uint64_t taken = 0;
        REQUIRE(take_varint(rest, taken));
        CHECK(unzigzag(taken) == value);
        CHECK(rest.empty());
        std::string_view cut = std::string_view(bytes).substr(0, bytes.size() - 1);
        CHECK_FALSE(take_varint(cut, taken));
    }
    std::string_view endless = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
    std::uint64_t taken = 0;
    CHECK_FALSE(take_varint(endless, taken));
}
