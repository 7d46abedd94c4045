#include "core/operators.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "core/operator_name.h"

using namespace muster;
using namespace muster::testing;

namespace {

OperatorRecord record_of(std::string name, OperatorRole role = OperatorRole::operate) {
    return {std::move(name), role, std::string(64, 'a'), "admin (10.0.0.9)", UnixMs{1'700'000'000'000}};
}

struct OperatorsWorld : CoreWorld {
    Operators::Verdict add(std::uint64_t question, const std::string& name) {
        Operators::Verdict verdict{};
        in_pass([&](const Pass&) {
            verdict = core->add_operator(question, record_of(name), {"admin", "10.0.0.9", "add operator", name});
        });
        return verdict;
    }
    Operators::Verdict remove(std::uint64_t question, const std::string& name) {
        Operators::Verdict verdict{};
        in_pass([&](const Pass&) {
            verdict = core->remove_operator(question, name, {"admin", "10.0.0.9", "remove operator", name});
        });
        return verdict;
    }
    template <class R>
    std::size_t durable() const {
        return static_cast<std::size_t>(
            std::count_if(store.durable.begin(), store.durable.end(),
                          [](const Record& one) { return std::holds_alternative<R>(one); }));
    }
};

using enum Operators::Verdict;

}  // namespace

TEST_CASE_FIXTURE(OperatorsWorld, "S-5: an operator is answered and told in history once it is durable, not before") {
    store.holding = true;
    CHECK(add(7, "alice") == begun);
    CHECK(core->take_answered().empty());
    CHECK(events_named("operator.action") == 0);
    commit();
    const auto answered = core->take_answered();
    REQUIRE(answered.size() == 1);
    CHECK(answered[0].number == 7);
    CHECK(answered[0].verdict.has_value());
    CHECK(durable<OperatorRecord>() == 1);
    CHECK(events_named("operator.action") == 1);
}

TEST_CASE_FIXTURE(OperatorsWorld, "S-5: a name is given once, also while the first is being written") {
    store.holding = true;
    CHECK(add(1, "alice") == begun);
    CHECK(add(2, "alice") == name_taken);
    CHECK(remove(3, "alice") == unknown);  // not there yet
    commit();
    CHECK(add(4, "alice") == name_taken);
    CHECK(remove(5, "bob") == unknown);
    CHECK(remove(6, "alice") == begun);
    CHECK(remove(7, "alice") == unknown);  // going already
    CHECK(add(8, "alice") == name_taken);
    commit();
    CHECK(add(9, "alice") == begun);
}

TEST_CASE_FIXTURE(OperatorsWorld, "S-5: what the disk refuses has not happened, and is in no history") {
    store.holding = true;
    store.fault = StoreFault::full;
    CHECK(add(1, "alice") == begun);
    commit();
    auto answered = core->take_answered();
    REQUIRE(answered.size() == 1);
    CHECK(answered[0].verdict.error() == Refusal::store_unavailable);
    CHECK(events_named("operator.action") == 0);

    store.fault = StoreFault::none;
    store.holding = false;
    advance(1s);
    CHECK(add(2, "alice") == begun);
    CHECK(core->take_answered().size() == 1);
    store.holding = true;
    store.fault = StoreFault::full;
    CHECK(remove(3, "alice") == begun);
    commit();
    CHECK(core->take_answered().at(0).verdict.error() == Refusal::store_unavailable);
    CHECK(add(4, "alice") == name_taken);  // still there
}

TEST_CASE("S-5: operators are there after a restart, and there is a limit to them") {
    RecoveredState recovered;
    for (std::size_t i = 0; i < Operators::operators_max - 1; ++i)
        recovered.operators.push_back(record_of("operator-" + std::to_string(i)));
    CoreWorld world(recovered);
    const auto add = [&](const std::string& name) {
        Operators::Verdict verdict{};
        world.in_pass([&](const Pass&) { verdict = world.core->add_operator(1, record_of(name), {}); });
        return verdict;
    };
    CHECK(add("operator-5") == name_taken);
    CHECK(add("last") == begun);
    CHECK(add("one-too-many") == too_many);
}

TEST_CASE("S-5: a name is plain ASCII, so that none looks like another") {
    CHECK(is_operator_name("alice"));
    CHECK(is_operator_name("Alice.B_c-1@example.com"));
    CHECK(is_operator_name(std::string(64, 'a')));
    CHECK_FALSE(is_operator_name(std::string(65, 'a')));
    for (const char* name : {"", "a b", "a/b", "\xC3\xA1lice", "a\n", "a\"", "<a>", "a,b", "a:b"}) {
        CAPTURE(name);
        CHECK_FALSE(is_operator_name(name));
    }
}
