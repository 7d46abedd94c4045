#include "tls/ticket_keys.h"

#include <doctest/doctest.h>

#include "base/seeded_entropy.h"

using namespace muster;

namespace {

constexpr std::int64_t start = 1'800'000'000;
constexpr std::int64_t seals = TicketKeys::seals_seconds;

struct Keys {
    SeededEntropy entropy{1};
    TicketKeys keys{entropy, start};
};

}  // namespace

TEST_CASE_FIXTURE(Keys, "S-1: a key seals for a day, and unseals until its last ticket is a week old") {
    const auto first = keys.newest();
    CHECK_FALSE(keys.renew(start + seals - 1));
    CHECK(keys.newest() == first);
    CHECK(keys.renew(start + seals));
    CHECK(keys.newest() != first);
    CHECK(keys.find(first->name) == first);
    const std::int64_t last = start + seals + TicketKeys::ticket_seconds;
    keys.renew(last - 1);
    CHECK(keys.find(first->name) == first);
    CHECK(keys.renew(last));
    CHECK_FALSE(keys.find(first->name));
}

TEST_CASE_FIXTURE(Keys, "S-1: keys are read back as they were written, the newest first") {
    for (int i = 1; i <= 20; ++i) keys.renew(start + i * seals);
    const std::int64_t now = start + 20 * seals;
    SeededEntropy other(2);
    TicketKeys again(other, now);
    REQUIRE(again.take(keys.to_text(), now));
    CHECK(again.to_text() == keys.to_text());
    CHECK(again.newest()->name == keys.newest()->name);
    CHECK(again.newest()->cipher == keys.newest()->cipher);
    CHECK(again.newest()->mac == keys.newest()->mac);
    CHECK_FALSE(again.renew(now));
}

TEST_CASE_FIXTURE(Keys, "S-1: what is no key, old, or of a clock that was wrong is not taken, and changes nothing") {
    const std::string good = keys.to_text();
    SeededEntropy other(2);
    TicketKeys again(other, start);
    const std::string before = again.to_text();
    std::string many;
    for (int i = 0; i < 100; ++i) many += good;
    std::string not_hexadecimal = good;
    not_hexadecimal[20] = 'x';
    for (const std::string& text : {std::string(), good.substr(0, good.size() - 1), good.substr(0, 40) + "\n",
                                    "x" + good, good.substr(0, good.size() - 1) + "00\n", not_hexadecimal, many})
        CHECK_FALSE(again.take(text, start));
    CHECK_FALSE(again.take(good, start + seals + TicketKeys::ticket_seconds));
    CHECK_FALSE(again.take(good, start - seals - 1));
    CHECK(again.to_text() == before);
    CHECK(again.take(good, start - seals));
}

TEST_CASE_FIXTURE(Keys, "S-1: a clock that goes back far costs a new key, and leaves one to seal with") {
    const auto first = keys.newest();
    CHECK(keys.renew(start - 100 * seals));
    CHECK(keys.newest() != first);
    CHECK_FALSE(keys.find(first->name));
}
