// Whether the owner of a cell has been silent for so long that another node may take the cell (N-3). No clock of
// another machine is looked at: only whether the cell's row changed while we could have seen it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster {

// What the row of a cell says of its owner.
struct CellMark {
    std::int64_t term = 0;
    std::int64_t batch = 0;
    friend bool operator==(const CellMark&, const CellMark&) = default;
};

// No I/O. `now` never goes backwards and is one that does not stand still while the machine sleeps.
class CellWatch {
public:
    // Longer than this between two answers, and we might have missed something: counting begins anew.
    static constexpr std::chrono::seconds answers_apart_max{1};

    explicit CellWatch(Duration silence) : silence_(silence) {}

    // The engine answered a question that was asked at `asked` with this mark.
    void seen(Time asked, CellMark mark) {
        const bool counts = mark_ == mark && last_ && asked - *last_ <= answers_apart_max;
        if (!counts) since_ = asked;
        mark_ = mark;
        last_ = asked;
    }
    // The engine did not answer: nothing is known of the time since the last answer.
    void missed() { last_.reset(); }

    // Unchanged for as long as the silence allows, as far as we could see.
    bool may_take() const { return last_ && *last_ - since_ >= silence_; }
    // The same for a node that leaves it to another first.
    bool may_take_out_of_turn() const { return silent_for() >= 2 * silence_; }
    // How long it has been unchanged.
    Duration silent_for() const { return last_ ? *last_ - since_ : Duration{0}; }

private:
    Duration silence_;
    std::optional<CellMark> mark_;
    Time since_{};
    std::optional<Time> last_;
};

}  // namespace muster
