#include "net/link_stage.h"

#include <array>
#include <string>

#include <doctest/doctest.h>

using namespace muster;

namespace {

constexpr std::array stages{LinkStage::securing,  LinkStage::rejected, LinkStage::reading,
                            LinkStage::throttled, LinkStage::resuming, LinkStage::overdue,
                            LinkStage::faulty,    LinkStage::flushing, LinkStage::lingering};

}  // namespace

TEST_CASE("a link goes from stage to stage as the table says") {
    // A row for each stage that is left, a column for each that is entered, in the order of `stages`.
    constexpr std::array<std::string_view, stages.size()> table{
        ".jr......",  // securing
        ".........",  // rejected
        "...t.ofc.",  // reading
        "....rofc.",  // throttled
        "..rt.ofc.",  // resuming
        "....r..c.",  // overdue
        ".......c.",  // faulty
        "........l",  // flushing
        ".........",  // lingering
    };
    for (std::size_t from = 0; from < stages.size(); ++from) {
        for (std::size_t to = 0; to < stages.size(); ++to) {
            CAPTURE(from);
            CAPTURE(to);
            CHECK(may_follow(stages[from], stages[to]) == (table[from][to] != '.'));
        }
    }
}

TEST_CASE("S-1: a link that the loop was told of stays so, and one that it was not told of is not heard") {
    for (const LinkStage from : stages) {
        if (!is_told(from)) CHECK_FALSE(is_heard(from));
        for (const LinkStage to : stages) {
            if (is_told(from) && may_follow(from, to)) CHECK(is_told(to));
        }
    }
}

TEST_CASE("a link that is heard is not closing, and what closes is heard no more") {
    for (const LinkStage stage : stages) CHECK_FALSE((is_heard(stage) && is_closing(stage)));
    for (const LinkStage from : stages) {
        for (const LinkStage to : stages) {
            if (is_closing(from) && may_follow(from, to)) CHECK(is_closing(to));
        }
    }
}
