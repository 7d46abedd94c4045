// Operators and blocks as this node knows them: from the records of the cell that has them, or as another node's owner
// wrote them.
#pragma once

#include <mutex>

#include "core/cell_news.h"
#include "core/records.h"
#include "http/block_book.h"
#include "http/operator_book.h"

namespace muster {

// Any thread.
class RuleBooks {
public:
    OperatorBook operators;
    BlockBook blocks;

    // This node owns the cell that writes them, which had these; its store notes the rest in both books.
    void own(const RecoveredState& recovered) {
        const std::lock_guard lock(mutex_);
        is_own_ = true;
        begin_with(recovered.operators, recovered.blocks);
    }
    // Another node is to own that cell. What is known stays until it is told anew.
    void leave() {
        const std::lock_guard lock(mutex_);
        is_own_ = false;
    }

    // Whether another node's owner writes them.
    bool follows() const {
        const std::lock_guard lock(mutex_);
        return !is_own_;
    }
    // All of them, as the store has them. Ignored where follows() is false.
    void follow(const SharedRules& rules) {
        const std::lock_guard lock(mutex_);
        if (!is_own_) begin_with(rules.operators, rules.blocks);
    }

private:
    void begin_with(const std::vector<OperatorRecord>& all_operators, const std::vector<BlockRecord>& all_blocks) {
        operators.begin_with(all_operators);
        blocks.begin_with(all_blocks);
    }

    mutable std::mutex mutex_;
    bool is_own_ = false;  // guarded by mutex_
};

}  // namespace muster
