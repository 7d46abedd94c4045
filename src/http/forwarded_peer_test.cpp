#include "http/forwarded_peer.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

struct Proxies {
    Proxies() { forwarded.set_trusted({*IpRange::parse("10.0.0.0/8"), *IpRange::parse("::1")}); }

    HttpRequest resolved(std::string_view peer, std::vector<std::string> headers) {
        HttpRequest request;
        request.peer = *IpAddress::parse(peer);
        for (std::string& header : headers) request.headers.push_back({"x-forwarded-FOR", std::move(header)});
        forwarded.resolve(request);
        return request;
    }
    std::string peer(std::string_view from, std::vector<std::string> headers) {
        return resolved(from, std::move(headers)).peer.to_string();
    }

    ForwardedPeer forwarded;
};

}  // namespace

TEST_CASE_FIXTURE(Proxies, "S-5: a trusted proxy says who asks, and nobody else does") {
    CHECK(peer("10.0.0.1", {"203.0.113.7"}) == "203.0.113.7");
    CHECK(peer("::1", {"2001:db8::7"}) == "2001:db8::7");
    CHECK(peer("198.51.100.1", {"203.0.113.7"}) == "198.51.100.1");
    CHECK(peer("10.0.0.1", {}) == "10.0.0.1");
}

TEST_CASE_FIXTURE(Proxies, "S-5: only what trusted proxies wrote is believed, from the end of the header on") {
    // The client invented the first address.
    CHECK(peer("10.0.0.1", {"192.0.2.1, 203.0.113.7"}) == "203.0.113.7");
    CHECK(peer("10.0.0.1", {"192.0.2.1 ,203.0.113.7,10.0.0.2"}) == "203.0.113.7");
    // Several headers are one list.
    CHECK(peer("10.0.0.1", {"192.0.2.1", "203.0.113.7"}) == "203.0.113.7");
    // All are proxies: the first of them asks.
    CHECK(peer("10.0.0.1", {"10.0.0.3, 10.0.0.2"}) == "10.0.0.3");
}

TEST_CASE_FIXTURE(Proxies, "S-5: what is no address ends the belief, and a port is not part of it") {
    CHECK(peer("10.0.0.1", {"unknown"}) == "10.0.0.1");
    CHECK(peer("10.0.0.1", {"203.0.113.7, , 10.0.0.2"}) == "10.0.0.2");
    CHECK(peer("10.0.0.1", {"203.0.113.7:4711"}) == "203.0.113.7");
    CHECK(peer("10.0.0.1", {"[2001:db8::7]:4711"}) == "2001:db8::7");
    CHECK(peer("10.0.0.1", {"[2001:db8::7"}) == "10.0.0.1");
    CHECK(peer("10.0.0.1", {std::string(10'000, ',')}) == "10.0.0.1");
}

TEST_CASE_FIXTURE(Proxies, "S-5: a request with the header is forwarded, believed or not") {
    CHECK(resolved("198.51.100.1", {"203.0.113.7"}).is_forwarded);
    CHECK(resolved("10.0.0.1", {"203.0.113.7"}).is_forwarded);
    CHECK_FALSE(resolved("10.0.0.1", {}).is_forwarded);
    CHECK(resolved("127.0.0.1", {""}).is_forwarded);
    CHECK(resolved("10.0.0.1", {" "}).is_forwarded);
}
