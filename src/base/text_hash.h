// For hash tables by text: a std::string_view finds what is kept under a std::string.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace muster {

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

}  // namespace muster
