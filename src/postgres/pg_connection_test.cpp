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
