#include "weather.h"

#include <algorithm>

namespace muster::storm {

void Weather::begin(Trouble trouble, Moment at) {
    windows_.push_back({trouble, at, std::nullopt});
}

void Weather::end(Trouble trouble, Moment at, Span traces) {
    for (Window& window : windows_) {
        if (window.trouble == trouble && !window.until) window.until = at + traces;
    }
}

bool Weather::met(std::initializer_list<Trouble> troubles, Moment from, Moment to) const {
    return std::any_of(windows_.begin(), windows_.end(), [&](const Window& window) {
        const bool asked = std::find(troubles.begin(), troubles.end(), window.trouble) != troubles.end();
        return asked && window.from <= to && (!window.until || *window.until >= from);
    });
}

bool Weather::ever(Trouble trouble) const {
    return std::any_of(windows_.begin(), windows_.end(),
                       [&](const Window& window) { return window.trouble == trouble; });
}

Span Weather::running(Moment from, Moment to) const {
    Span left = to - from;
    for (const Window& window : windows_) {
        const bool halts = window.trouble == Trouble::down || window.trouble == Trouble::stopped ||
                           window.trouble == Trouble::cut_short;
        if (!halts) continue;
        const Moment until = std::min(window.until.value_or(to), to);
        left -= std::max<Span>(Span{0}, until - std::max(window.from, from));
    }
    return left;
}

}  // namespace muster::storm
