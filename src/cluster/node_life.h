// The life of a node that shares its store with others: it stands by, owns the cell, and gives it up.
// No I/O: it is told what was seen, and says what that means.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "postgres/cell_claim.h"

namespace muster {

// Since the process started, over all its terms. Any thread.
struct ClusterFigures {
    std::atomic<std::uint64_t> takeovers{0};         // from another node
    std::atomic<std::uint64_t> fence_rejections{0};  // batches refused since another node owned the cell
};

// N-12: a cell goes back to a node that prefers it, not more often than once a minute.
inline bool may_hand_back(Duration owned_for) {
    return owned_for >= std::chrono::minutes(1);
}

// One thread.
class NodeLife {
public:
    NodeLife(std::string node, std::string cell) : node_(std::move(node)), cell_(std::move(cell)) {}

    // One look at the cell while standing by. What is new, for the log; none: all is as it was.
    std::optional<std::string> looked(const CellOwnership& seen) {
        if (seen.ours) {
            owns_ = true;
            took_over_ = !seen.owner.empty() && seen.owner != node_;
            return took_over_ ? "Took cell " + cell_ + " over from " + seen.owner
                              : "Owns cell " + cell_ + ", which nobody had";
        }
        std::string next = seen.engine.empty() ? "standing by; owner is " + (seen.owner.empty() ? "nobody" : seen.owner)
                                               : "standing by; the database does not answer: " + seen.engine;
        if (next == standing_) return std::nullopt;
        standing_ = std::move(next);
        std::string news = standing_;
        news.front() = 'S';
        return news;
    }

    bool owns() const { return owns_; }
    // Whether the cell was another node's before.
    bool took_over() const { return took_over_; }
    // "standing by; owner is two"
    const std::string& standing() const { return standing_; }

private:
    const std::string node_;
    const std::string cell_;
    std::string standing_ = "standing by; owner is not known yet";
    bool owns_ = false;
    bool took_over_ = false;
};

}  // namespace muster
