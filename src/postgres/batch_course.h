// The way of one batch to the engine (N-2, N-5): which step comes next, and what became of the batch. No I/O: whoever
// does the steps says how each was answered.
//
//   step       what is done                      done       warned   refused   fenced   broke
//   ---------  --------------------------------  ---------  -------  --------  -------  ----------------------------
//   connect    a connection, the lease renewed   send       send     failed    over     failed
//   send       BEGIN, the fence, the records     commit     commit   failed    over     failed: nothing was committed
//   commit     COMMIT, and what is unanswered    committed  settle   failed    over     reconnect: nobody knows
//   reconnect  as connect, where none is there   settle     settle   wait      over     wait
//   settle     a write that returns the batch    known      wait     wait      over     wait
//   wait       a pause                           reconnect
//
// Whoever waits for the answers to `send` learns of a refusal before COMMIT leaves; whoever does not learns of it with
// the answer to COMMIT. What was sent may then still be on its way when it is settled: the fence refuses it afterwards.
//
// A commit with a warning is one whose standby did not confirm: it may be lost with the primary, so it is settled like
// one without an answer. So is an answer to that: only a write that all standbys confirmed tells.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace muster {

enum class BatchStep : std::uint8_t { connect, send, commit, reconnect, settle, wait, end };

// How the engine answered a step.
enum class BatchReply : std::uint8_t {
    done,
    warned,   // done, and the engine warned
    refused,  // the engine said no: nothing of the transaction is there
    fenced,   // the term is over: another node has the cell
    broke,    // no answer, and no connection any more
};

enum class BatchEnd : std::uint8_t {
    committed,    // and answered so: the owner was there when it sent the batch
    settled,      // durable, as was found out later: no promise may rely on when
    failed,       // nothing of it is there
    not_applied,  // the same, as was found out later
    over,         // the cell is another node's: nothing is known, and nothing may be said
};

// One thread.
class BatchCourse {
public:
    explicit BatchCourse(bool is_connected) : step_(is_connected ? BatchStep::send : BatchStep::connect) {}

    BatchStep step() const { return step_; }
    // Of a step that is `end`.
    BatchEnd end() const {
        MUSTER_CHECK(step_ == BatchStep::end, "a batch's course is over before its end is known");
        return end_;
    }
    // The commit was sent, and nobody knows what became of it.
    bool is_unknown() const {
        return step_ == BatchStep::reconnect || step_ == BatchStep::settle || step_ == BatchStep::wait;
    }

    // How the step was answered; of `settle` see below, unless it was not done.
    void replied(BatchReply reply) {
        if (reply == BatchReply::fenced) return finish(BatchEnd::over);
        const bool is_done = reply == BatchReply::done || reply == BatchReply::warned;
        switch (step_) {
            case BatchStep::connect:
                return is_done ? go_to(BatchStep::send) : finish(BatchEnd::failed);
            case BatchStep::send:
                return is_done ? go_to(BatchStep::commit) : finish(BatchEnd::failed);
            case BatchStep::commit:
                if (reply == BatchReply::done) return finish(BatchEnd::committed);
                if (reply == BatchReply::refused) return finish(BatchEnd::failed);
                return go_to(reply == BatchReply::warned ? BatchStep::settle : BatchStep::reconnect);
            case BatchStep::reconnect:
                return go_to(is_done ? BatchStep::settle : BatchStep::wait);
            case BatchStep::settle:
                return go_to(BatchStep::wait);
            case BatchStep::wait:
                return go_to(BatchStep::reconnect);
            case BatchStep::end:
                break;
        }
    }
    // The write has returned the number of the cell's last batch; ours, which is to be `ours`, is among them or not.
    void settled(BatchReply reply, std::int64_t last, std::int64_t ours) {
        if (reply != BatchReply::done) return replied(reply);
        finish(last >= ours ? BatchEnd::settled : BatchEnd::not_applied);
    }

private:
    void go_to(BatchStep step) { step_ = step; }
    void finish(BatchEnd end) {
        step_ = BatchStep::end;
        end_ = end;
    }

    BatchStep step_;
    BatchEnd end_ = BatchEnd::failed;
};

}  // namespace muster
