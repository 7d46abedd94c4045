#include "protocol/error_texts.h"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "protocol/text.h"
#include "protocol/wire_error.h"

using namespace muster;

namespace {

template <class What>
std::set<std::string_view> texts(What last) {
    std::set<std::string_view> all;
    for (int i = 0; i <= static_cast<int>(last); ++i) all.insert(text(static_cast<What>(i)));
    return all;
}

}  // namespace

TEST_CASE("F-1, F-3, F-4, A-1, A-2, A-6, A-10, K-2, P-1, S-7, W-6, X-3: each refusal has the specification's words") {
    CHECK(texts(last_refusal) == std::set<std::string_view>{"Invalid token",
                                                            "Invalid IP address",
                                                            "Invalid port",
                                                            "Invalid region",
                                                            "Invalid capacity",
                                                            "Server already registered",
                                                            "Server not registered",
                                                            "Server disconnected",
                                                            "Invalid load report",
                                                            "Invalid Chat Server ID",
                                                            "Chat Server already registered",
                                                            "Chat Server not registered",
                                                            "Server busy",
                                                            "Invalid match lobby ID",
                                                            "Region not supported",
                                                            "Invalid player count",
                                                            "No servers available",
                                                            "Server allocation timeout",
                                                            "Allocation cancelled",
                                                            "Match not found",
                                                            "Server not allocated to this match",
                                                            "Invalid match token",
                                                            "Match already ended",
                                                            "Match token expired",
                                                            "Match token already used",
                                                            "Store unavailable",
                                                            "Invalid credential",
                                                            "Credential expired",
                                                            "Invalid name",
                                                            "Too many logins",
                                                            "Server address not allowed",
                                                            "Server registered under another name",
                                                            "Blocked",
                                                            "Not logged in",
                                                            "Already logged in",
                                                            "Server shutting down"});
}

TEST_CASE("P-5, F-7, F-12, A-9: each reason has the specification's words") {
    const auto all = texts(last_reason);
    for (const std::string_view reason :
         {"Ping timeout", "Idle too long", "Heartbeat failed", "Logged in elsewhere", "Kicked", "Server shutting down",
          "Handshake timeout", "Too many messages", "Internal error", "Blocked", "Lost by server",
          "Reported by heartbeat", "Server left", "Cancelled", "Match not found", "Match token expired"}) {
        CAPTURE(reason);
        CHECK(all.contains(reason));
    }
}

TEST_CASE("A-13: labels are unique, stable words of small letters") {
    std::set<std::string_view> labels;
    const auto check = [&](std::string_view word) {
        CHECK(labels.insert(word).second);
        CHECK(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    };
    for (int i = 0; i <= static_cast<int>(last_refusal); ++i) check(label(static_cast<Refusal>(i)));
    labels.clear();
    for (int i = 0; i <= static_cast<int>(last_reason); ++i) check(label(static_cast<Reason>(i)));
    CHECK(label(Refusal::no_servers_available) == "no_servers_available");
    CHECK(label(Reason::lost_by_server) == "lost_by_server");
}

TEST_CASE("W-2: every text that we send fits its field") {
    for (const std::string_view text : texts(last_refusal)) CHECK(ErrorText::fits(text));
    for (const std::string_view text : texts(last_reason)) CHECK(ReasonText::fits(text));
    for (const WireError kind : wire_errors) CHECK(ErrorText::fits(malformed_text(kind)));
}
