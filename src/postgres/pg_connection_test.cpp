#include "postgres/pg_connection.h"

#include <optional>

#include <doctest/doctest.h>

#include "postgres/pg_values.h"

using namespace muster;

TEST_CASE("N-2: an array is written as PostgreSQL reads it, whatever stands in its texts") {
    PgArray numbers;
    CHECK(numbers.text() == "{}");
    numbers.add(1);
    numbers.add(std::int64_t{-2});
    numbers.add(std::optional<int>());
    CHECK(numbers.text() == "{1,-2,NULL}");
    PgArray texts;
    texts.add(std::string_view("plain"));
    texts.add(std::string_view("a \"b\" \\ {c},NULL"));
    texts.add(std::string_view());
    CHECK(texts.text() == R"({"plain","a \"b\" \\ {c},NULL",""})");
}

TEST_CASE("N-2: a column is an array in PostgreSQL's binary format, with its type and its size") {
    const auto bytes = [](std::initializer_list<int> all) {
        std::string text;
        for (const int one : all) text += static_cast<char>(one);
        return text;
    };
    PgColumn integers(PgColumn::Type::integer);
    integers.add(-2);
    integers.add(258);
    CHECK(integers.size() == 2);
    CHECK(integers.take() == bytes({0, 0, 0, 1, 0, 0, 0,    0,    0,    0,    0, 23, 0, 0, 0, 2, 0, 0,
                                    0, 1, 0, 0, 0, 4, 0xFF, 0xFF, 0xFF, 0xFE, 0, 0,  0, 4, 0, 0, 1, 2}));
    PgColumn bigints(PgColumn::Type::bigint);
    bigints.add(INT64_MIN);
    CHECK(bigints.take() ==
          bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0x80, 0, 0, 0, 0, 0, 0, 0}));
    PgColumn texts(PgColumn::Type::text);
    texts.add(std::string_view("a\0", 2));
    texts.add(std::string_view());
    CHECK(texts.take() == bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4}) + "a\uFFFD" +
                              bytes({0, 0, 0, 0}));
    PgColumn none(PgColumn::Type::text);
    CHECK(none.empty());
    CHECK(none.take() == bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25}));
}

TEST_CASE("N-6: a row of a binary COPY gives its fields in order, and a short one is refused") {
    using namespace std::string_view_literals;
    PgCopyRow row("\0\0\0\4\xFF\xFF\xFF\xFE\0\0\0\3abc\xFF\xFF\xFF\xFF\0\0\0\1\1"sv);
    CHECK(row.integer() == -2);
    CHECK(row.bytes() == "abc");
    CHECK(row.integer() == 0);
    CHECK(row.flag());
    CHECK_THROWS_AS(row.bytes(), PgError);
    PgCopyRow cut("\0\0\0\5ab"sv);
    CHECK_THROWS_AS(cut.bytes(), PgError);
    PgCopyRow no_number("\0\0\0\3abc"sv);
    CHECK_THROWS_AS(no_number.integer(), PgError);
}
