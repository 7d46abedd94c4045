#include "cli/recent_allocations.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace muster;

namespace {

struct Recent {
    void look(std::int64_t time_ms, int requests, int successes, int quick, int slow) {
        const std::string text = fmt::format(R"({{"time_ms":{},"allocations":{{"requests":{},"successes":{},)"
                                             R"("latency_ms":{{"buckets_ms":[10,1000],"counts":[{},{},0]}}}}}})",
                                             time_ms, requests, successes, quick, slow);
        recent.take(JsonValue::parse(text).value());
    }

    RecentAllocations recent;
};

}  // namespace

TEST_CASE_FIXTURE(Recent, "A-13: percentiles and shares are of the last minute, not since the start") {
    CHECK_FALSE(recent.seconds(0.5));
    look(1'000, 1000, 1000, 1000, 0);
    CHECK_FALSE(recent.seconds(0.5));  // one look tells no difference
    CHECK_FALSE(recent.share_given());
    look(2'000, 1010, 1005, 1000, 5);
    CHECK(recent.per_second() == doctest::Approx(10));
    CHECK(recent.share_given().value() == doctest::Approx(0.5));
    CHECK(recent.seconds(0.5).value() > 0.01);
    // The five slow ones are 59.999 s away, then a minute.
    look(61'999, 1020, 1015, 1010, 5);
    CHECK(recent.seconds(1.0).value() > 0.01);
    look(62'000, 1020, 1015, 1010, 5);
    CHECK(recent.seconds(1.0).value() == doctest::Approx(0.01));
    CHECK(recent.share_given().value() == doctest::Approx(1.0));
    CHECK(recent.per_second() == 0);
    look(125'000, 1020, 1015, 1010, 5);
    look(126'000, 1020, 1015, 1010, 5);
    CHECK_FALSE(recent.seconds(0.5));
    CHECK_FALSE(recent.share_given());
}

TEST_CASE_FIXTURE(Recent, "O-3: a daemon that was restarted begins anew, and the same view twice changes nothing") {
    look(1'000, 100, 100, 100, 0);
    look(2'000, 110, 110, 110, 0);
    look(2'000, 110, 110, 110, 0);
    CHECK(recent.per_second() == doctest::Approx(10));
    look(3'000, 2, 2, 0, 2);
    CHECK(recent.per_second() == 0);
    CHECK_FALSE(recent.seconds(0.5));
    look(4'000, 5, 5, 3, 2);
    CHECK(recent.per_second() == doctest::Approx(3));
    CHECK(recent.seconds(1.0).value() == doctest::Approx(0.01));
}

TEST_CASE("O-3: an overview without the buckets, or with wrong ones, has no percentiles and does no harm") {
    RecentAllocations recent;
    for (const char* text : {R"({"time_ms":1,"allocations":{"requests":1}})", "[]", "{}",
                             R"({"time_ms":2,"allocations":{"latency_ms":{"buckets_ms":[1,2],"counts":[-5]}}})",
                             R"({"time_ms":3,"allocations":{"latency_ms":{"buckets_ms":"x","counts":[7,8,9]}}})"}) {
        recent.take(JsonValue::parse(text).value());
        CHECK_FALSE(recent.seconds(0.5));
    }
}
