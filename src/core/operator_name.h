// What an operator may be called (S-5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace muster {

inline constexpr std::size_t operator_name_bytes_max = 64;

// Who holds the config's own tokens, so that no operator can be taken for them in the history.
inline constexpr std::string_view admin_name = "admin";
inline constexpr std::string_view http_matchmaker_name = "matchmaker";
// What the matches of that one, and of who needs no token, are asked for by.
inline constexpr std::string_view unnamed_matchmaker = "http";

// Letters, digits and . _ @ - in ASCII: a name that looks like another one cannot be made.
constexpr bool is_operator_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '@' || c == '-';
    };
    return !name.empty() && name.size() <= operator_name_bytes_max && std::all_of(name.begin(), name.end(), fits);
}

}  // namespace muster
