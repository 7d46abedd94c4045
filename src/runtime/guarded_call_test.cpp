#include "runtime/guarded_call.h"

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("L-5: what a guarded call throws ends there, and its reason is told") {
    std::string told;
    const auto tell = [&told](std::string_view why) { told = why; };
    CHECK(guarded_call([] {}, tell));
    CHECK(told.empty());
    CHECK_FALSE(guarded_call([] { throw std::runtime_error("broken"); }, tell));
    CHECK(told == "broken");
    CHECK_FALSE(guarded_call([] { throw 42; }, tell));  // NOLINT: anything may be thrown
    CHECK(told == "unknown exception");
}

TEST_CASE("L-5, fault 8: should telling fail too, the guarded call still ends there") {
    const auto fail = [](std::string_view) { throw std::bad_alloc(); };
    CHECK_FALSE(guarded_call([] { throw std::runtime_error("broken"); }, fail));
    CHECK_FALSE(guarded_call([] { throw 42; }, fail));  // NOLINT: anything may be thrown
}
