#include "cli/json_value.h"

#include <string>

#include <doctest/doctest.h>

#include "cli/api_client.h"
#include "cli/command.h"

namespace muster {

TEST_CASE("an answer is walked by its names, and what is not there is empty") {
    const auto value = JsonValue::parse(R"({"id":7,"cpu":1.5,"up":true,"name":"Änn","next":null,"list":[1,2]})");
    REQUIRE(value);
    CHECK((*value)["id"].integer() == 7);
    CHECK((*value)["id"].number() == 7);
    CHECK((*value)["cpu"].number() == 1.5);
    CHECK((*value)["up"].flag());
    CHECK((*value)["name"].text() == "Änn");
    CHECK((*value)["next"].is_null());
    CHECK((*value)["list"].items().size() == 2);
    CHECK((*value)["gone"]["deeper"].text().empty());
    CHECK((*value)["name"].integer() == 0);
    CHECK(value->to_json() == R"({"id":7,"cpu":1.5,"up":true,"name":"Änn","next":null,"list":[1,2]})");
}

TEST_CASE("what is no JSON is none, however deep") {
    CHECK_FALSE(JsonValue::parse("<html>"));
    CHECK_FALSE(JsonValue::parse(""));
    CHECK_FALSE(JsonValue::parse(std::string(100'000, '[')));
    CHECK_FALSE(JsonValue::parse("\"\xff\""));
}

TEST_CASE("MUSTER_URL is a host and a port, and says what is wrong with it") {
    const ApiAddress plain = parse_api_address("http://127.0.0.1:11030/");
    CHECK(plain.url == "http://127.0.0.1:11030");
    CHECK(plain.host == "127.0.0.1");
    CHECK(plain.port == "11030");
    CHECK(parse_api_address("http://localhost").port == "80");
    CHECK(parse_api_address("https://localhost").port == "443");
    const ApiAddress six = parse_api_address("http://[::1]:99");
    CHECK(six.host == "::1");
    CHECK(six.port == "99");
    CHECK(parse_api_address("http://localhost:1").port == "1");
    CHECK(parse_api_address("http://localhost:65535").port == "65535");
    for (const char* bad :
         {"", "localhost", "ftp://a", "https://", "http://", "http://:1", "http://[::1", "http://[::1]x",
          "http://a:", "http://a:x", "http://a:0", "http://a:65536", "http://a:99999", "http://[::1]:65536",
          "http://a:-1", "http://a:123456", "http://a/b", "http://u@a"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(parse_api_address(bad), CommandFailure);
    }
}

TEST_CASE("a value in a query keeps its meaning") {
    CHECK(query_encoded("match.,a b&c=ü") == "match.%2Ca%20b%26c%3D%C3%BC");
}

}  // namespace muster
