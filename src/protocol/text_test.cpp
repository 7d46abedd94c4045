#include "protocol/text.h"

#include <type_traits>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("W-2: the longest strings are as the specification says") {
    CHECK(HandshakeTokenText::size_max == 256);
    CHECK(MatchTokenText::size_max == 256);
    CHECK(IpText::size_max == 45);
    CHECK(MatchmakerIdText::size_max == 64);
    CHECK(NameText::size_max == 32);
    CHECK(CredentialText::size_max == 1024);
    CHECK(ResumeTokenText::size_max == 64);
    CHECK(ReasonText::size_max == 256);
    CHECK(ErrorText::size_max == 256);
}

TEST_CASE("W-2: words of any length are cut to fit, never inside a character") {
    CHECK(NameText::cut("short") == "short");
    CHECK(NameText::cut(std::string(32, 'a')).size() == 32);
    CHECK(NameText::cut(std::string(33, 'a')).size() == 32);
    CHECK(NameText::cut(std::string(31, 'a') + "ë") == std::string(31, 'a'));
    CHECK(NameText::cut(std::string(30, 'a') + "ë!") == std::string(30, 'a') + "ë");
    CHECK(utf8_start("\xFF\xFF", 1).empty());
}

TEST_CASE("K-3, fault 69: of a match token people see the start, of other secrets nothing") {
    const std::string token = "MATCH_12345_f7a3b9c2-4d1e-4f6a-9b2c-3e4f5a6b7c8d_1705123456";
    CHECK(shown_text(token, Shown::start) == "MATCH_12345_…");
    CHECK(shown_text(token, Shown::never) == "(hidden)");
    CHECK(shown_text(token, Shown::whole) == token);
    // The start of a short secret would be most of it.
    CHECK(shown_text(std::string(35, 's'), Shown::start) == "(hidden)");
    CHECK(shown_text(std::string(36, 's'), Shown::start) == "ssssssssssss…");
    CHECK(shown_text("", Shown::start).empty());
    CHECK(shown_text("", Shown::never).empty());
    CHECK(shown_text("ë ë ë ë ë ë ë ë ë ë ë ë ë ë ë", Shown::start) == "ë ë ë ë …");
}

TEST_CASE("K-3: a secret does not become a plain text unseen") {
    CHECK_FALSE(std::is_convertible_v<MatchTokenText, ErrorText>);
    CHECK_FALSE(std::is_constructible_v<ErrorText, CredentialText>);
    CHECK(std::is_constructible_v<ErrorText, const char*>);
    CHECK(std::is_constructible_v<ErrorText, std::string_view>);
    CHECK(std::is_constructible_v<ErrorText, std::string>);
}
