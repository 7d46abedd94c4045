// Deadlines that need not be met to the millisecond, met together.
#pragma once

namespace muster {

// The next moment at or after `due` that is a whole number of steps from its clock's beginning: what is due in the same
// step has the same one.
template <class Point>
constexpr Point shared_deadline(Point due, typename Point::duration step) {
    const auto late = due.time_since_epoch() % step;
    return late == Point::duration::zero() ? due : due + (step - late);
}

}  // namespace muster
