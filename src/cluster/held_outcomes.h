// What the store said of batches, kept back while promises may not be answered. No I/O.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "core/records.h"

namespace muster {

// Game thread only. Outcomes are told in the order in which they came.
class HeldOutcomes {
public:
    // `may_answer` is asked when there is a promise to keep; `tell` gets what need not wait.
    template <class MayAnswer, class Tell>
    void take(BatchOutcome&& outcome, const MayAnswer& may_answer, Tell tell) {
        held_.push_back(std::move(outcome));
        if (held_.size() == 1) release(may_answer, tell);
    }

    // Tells what may be told by now.
    template <class MayAnswer, class Tell>
    void release(const MayAnswer& may_answer, Tell tell) {
        while (!held_.empty()) {
            // A refusal promises nothing.
            if (held_.front().fault == StoreFault::none && !may_answer()) return;
            BatchOutcome next = std::move(held_.front());
            held_.pop_front();
            if (next.fault == StoreFault::none) has_kept_promises_ = true;
            tell(std::move(next));
        }
    }

    bool waiting() const { return !held_.empty(); }

    // A pass answers what an earlier outcome promised.
    void promised() { has_kept_promises_ = true; }

    // Whether what a pass has to say may leave: the process may have stood still since `may_answer` was asked. False:
    // all of it waits until somebody has shown that nobody took over meanwhile.
    template <class MayAnswer>
    bool may_send(const MayAnswer& may_answer) {
        if (has_kept_promises_ && !may_answer()) return false;
        has_kept_promises_ = false;
        return true;
    }

private:
    std::deque<BatchOutcome> held_;
    bool has_kept_promises_ = false;  // since what was promised last left
};

}  // namespace muster
