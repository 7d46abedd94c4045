#include "postgres/batch_course.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

// At its commit.
BatchCourse at_commit() {
    BatchCourse course(false);
    CHECK(course.step() == BatchStep::connect);
    course.replied(BatchReply::done);
    CHECK(course.step() == BatchStep::send);
    course.replied(BatchReply::done);
    CHECK(course.step() == BatchStep::commit);
    CHECK(!course.is_unknown());
    return course;
}

}  // namespace

TEST_CASE("N-5: a commit that is answered is committed, and one that is refused is not there") {
    BatchCourse course = at_commit();
    course.replied(BatchReply::done);
    CHECK(course.end() == BatchEnd::committed);
    course = at_commit();
    course.replied(BatchReply::refused);
    CHECK(course.end() == BatchEnd::failed);
}

TEST_CASE("N-5: a connection that breaks before the commit leaves nothing behind") {
    BatchCourse course(true);
    CHECK(course.step() == BatchStep::send);
    course.replied(BatchReply::broke);
    CHECK(course.end() == BatchEnd::failed);
    BatchCourse unreachable(false);
    unreachable.replied(BatchReply::broke);
    CHECK(unreachable.end() == BatchEnd::failed);
}

TEST_CASE("N-5: a commit without an answer, or with a warning, is settled by the batch's number") {
    for (const BatchReply reply : {BatchReply::broke, BatchReply::warned}) {
        BatchCourse course = at_commit();
        course.replied(reply);
        CHECK(course.is_unknown());
        if (course.step() == BatchStep::reconnect) course.replied(BatchReply::done);
        CHECK(course.step() == BatchStep::settle);
        BatchCourse other = course;
        course.settled(BatchReply::done, 7, 7);
        CHECK(course.end() == BatchEnd::settled);
        other.settled(BatchReply::done, 6, 7);
        CHECK(other.end() == BatchEnd::not_applied);
    }
}

TEST_CASE("N-5: nothing but a write that was confirmed settles, and the question is asked until it is") {
    BatchCourse course = at_commit();
    course.replied(BatchReply::broke);
    course.replied(BatchReply::done);
    for (const BatchReply reply : {BatchReply::warned, BatchReply::broke, BatchReply::refused}) {
        course.settled(reply, 7, 7);
        CHECK(course.step() == BatchStep::wait);
        course.replied(BatchReply::done);
        CHECK(course.step() == BatchStep::reconnect);
        course.replied(BatchReply::broke);
        CHECK(course.step() == BatchStep::wait);
        course.replied(BatchReply::done);
        course.replied(BatchReply::done);
        CHECK(course.step() == BatchStep::settle);
    }
    course.settled(BatchReply::done, 7, 7);
    CHECK(course.end() == BatchEnd::settled);
}

TEST_CASE("N-2: a term that is over ends the batch at every step, and nothing is said of it") {
    BatchCourse at_connect(false);
    at_connect.replied(BatchReply::fenced);
    CHECK(at_connect.end() == BatchEnd::over);
    BatchCourse at_send(true);
    at_send.replied(BatchReply::fenced);
    CHECK(at_send.end() == BatchEnd::over);
    BatchCourse at_settle = at_commit();
    at_settle.replied(BatchReply::broke);
    BatchCourse at_reconnect = at_settle;
    at_settle.replied(BatchReply::done);
    at_settle.settled(BatchReply::fenced, 0, 7);
    CHECK(at_settle.end() == BatchEnd::over);
    at_reconnect.replied(BatchReply::fenced);
    CHECK(at_reconnect.end() == BatchEnd::over);
}
