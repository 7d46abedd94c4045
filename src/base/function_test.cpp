#include "base/function.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include <doctest/doctest.h>

using muster::Function;

TEST_CASE("a Function calls what it was made from") {
    int sum = 0;
    Function<int(int)> add([&sum](int n) { return sum += n; });
    CHECK(add(2) == 2);
    CHECK(add(3) == 5);
}

TEST_CASE("an empty std::function or null pointer makes an empty Function") {
    CHECK_FALSE(Function<void()>());
    CHECK_FALSE(Function<void()>(nullptr));
    CHECK_FALSE(Function<void()>(std::function<void()>()));
    CHECK_FALSE(Function<void()>(static_cast<void (*)()>(nullptr)));
    CHECK(Function<void()>([] {}));
}

TEST_CASE("moving a Function moves what it owns, once") {
    auto owned = std::make_shared<int>(7);
    Function<int()> first([owned] { return *owned; });
    CHECK(owned.use_count() == 2);

    Function<int()> second(std::move(first));
    CHECK(owned.use_count() == 2);
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from Function is empty by contract
    CHECK(second() == 7);

    second = Function<int()>([] { return 1; });
    CHECK(owned.use_count() == 1);
    CHECK(second() == 1);
    second.reset();
    CHECK_FALSE(second);
}

TEST_CASE("a Function that may use the heap keeps there only what does not fit") {
    using Small = Function<int(int), 24, muster::TooLarge::on_heap>;
    static_assert(sizeof(Small) == 32);
    auto owned = std::make_shared<int>(7);
    const std::array<int, 100> large{1, 2, 3};
    Small first([owned, large](int n) { return *owned + large[static_cast<std::size_t>(n)]; });
    CHECK(owned.use_count() == 2);
    Small second(std::move(first));
    CHECK(second(2) == 10);
    second.reset();
    CHECK(owned.use_count() == 1);
}

TEST_CASE("a Function of bytes only is moved and dropped like any other, without a call") {
    int sum = 0;
    Function<int(int)> first([&sum](int n) { return sum += n; });
    CHECK(first.drops_silently());
    Function<int(int)> second(std::move(first));
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from Function is empty by contract
    CHECK(second(2) == 2);
    first = std::move(second);
    CHECK(first(3) == 5);
    first.reset();
    CHECK_FALSE(first);
    CHECK(first.drops_silently());

    Function<int()> owning([owned = std::make_shared<int>(7)] { return *owned; });
    CHECK_FALSE(owning.drops_silently());
}
