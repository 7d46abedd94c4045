// What a call that may be refused returns: a value, or the reason as a code.
#pragma once

#include <tl/expected.hpp>

namespace muster {

template <class T, class E>
using Result = tl::expected<T, E>;

template <class E>
using Failure = tl::unexpected<E>;

}  // namespace muster
