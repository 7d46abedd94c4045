// The tokens of operators: made once, shown once, and kept as a hash only (S-5).
#pragma once

#include <string>
#include <string_view>

#include "base/entropy.h"

namespace muster {

// 256 random bits, which nobody guesses: "muster_" and 64 hexadecimal digits. Scanners for leaked secrets find it by
// its beginning.
std::string make_operator_token(Entropy& entropy);

// SHA-256 in hexadecimal. A token has so many random bits that a slow hash would add nothing.
std::string hash_of_token(std::string_view token);

}  // namespace muster
