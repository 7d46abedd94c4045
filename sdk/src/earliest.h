// The first of several times, some of which may not be set.
#pragma once

#include <initializer_list>
#include <optional>

#include "muster/time.h"

namespace muster::sdk {

inline std::optional<Time> earliest(std::initializer_list<std::optional<Time>> times) {
    std::optional<Time> first;
    for (const std::optional<Time>& time : times) {
        if (time && (!first || *time < *first)) first = time;
    }
    return first;
}

}  // namespace muster::sdk
