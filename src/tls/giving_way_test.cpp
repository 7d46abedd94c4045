#include "tls/giving_way.h"

#include <cstdint>
#include <map>
#include <string>

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct FullPort {
    GivingWay<std::uint32_t> list;
    std::map<std::uint32_t, std::string> owners;

    void have(const std::string& from, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto number = static_cast<std::uint32_t>(owners.size());
            list.add(*IpAddress::parse(from), number);
            owners[number] = from;
        }
    }
    // Whose link gives way; empty when none does.
    std::string who_for(const char* newcomer) {
        const auto link = list.next_for(*IpAddress::parse(newcomer));
        if (!link) return "";
        list.let_in(*IpAddress::parse(newcomer));
        return owners.at(*link);
    }
};

}  // namespace

TEST_CASE_FIXTURE(FullPort, "fault 75: who has most unproven links of a full port loses one to who has fewer") {
    list.begin();
    have("203.0.113.1", 5);
    have("203.0.113.2", 3);
    list.end_list(Time{});
    CHECK(who_for("198.51.100.1") == "203.0.113.1");
    CHECK(who_for("198.51.100.2") == "203.0.113.1");
    // Three each: what one would lose another would have too many.
    CHECK(who_for("203.0.113.2").empty());
    CHECK(who_for("203.0.113.1").empty());
    CHECK(!who_for("198.51.100.3").empty());
}

TEST_CASE_FIXTURE(FullPort,
                  "fault 75: addresses that flood alike take no room from each other, and one gets a fair part") {
    list.begin();
    for (int i = 1; i <= 250; ++i) have("203.0.113." + std::to_string(i), 60);
    list.end_list(Time{});
    CHECK(who_for("203.0.113.7").empty());
    int got_in = 0;
    while (!who_for("198.51.100.1").empty()) ++got_in;
    CHECK(got_in >= 58);
    CHECK(got_in <= 60);
}

TEST_CASE("fault 75, S-7: links that an address has with other threads count, too") {
    const auto address = [](const char* text) { return *IpAddress::parse(text); };
    const std::map<std::string, std::size_t> with_all_threads{
        {"203.0.113.1", 2}, {"203.0.113.2", 1}, {"198.51.100.1", 2}};
    GivingWay<std::uint32_t> list([&](const IpAddress& network) {
        const auto found = with_all_threads.find(network.to_string());
        return found == with_all_threads.end() ? std::size_t{0} : found->second;
    });
    list.begin();
    list.add(address("203.0.113.1"), 0);
    list.add(address("203.0.113.2"), 1);
    list.end_list(Time{});
    CHECK_FALSE(list.next_for(address("198.51.100.1")));  // it has two itself
    CHECK(list.next_for(address("198.51.100.2")) == 0);
    // What the other threads have they give away themselves.
    CHECK_FALSE(list.next_for(address("198.51.100.3")));
}

TEST_CASE_FIXTURE(FullPort, "fault 75: links that are the only ones of their address do not give way") {
    list.begin();
    for (int i = 1; i <= 10; ++i) have("203.0.113." + std::to_string(i), 1);
    list.end_list(Time{});
    CHECK(who_for("198.51.100.1").empty());
}

TEST_CASE("fault 75: a list of links that give way is made anew after a tenth of a second") {
    GivingWay<std::uint32_t> list;
    CHECK_FALSE(list.next_for(*IpAddress::parse("198.51.100.1")));
    CHECK(list.is_stale(Time{}));
    list.begin();
    list.end_list(Time{});
    CHECK_FALSE(list.is_stale(Time{} + decltype(list)::used_for - 1ns));
    CHECK(list.is_stale(Time{} + decltype(list)::used_for));
}
