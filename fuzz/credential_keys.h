// The keys that fuzz_credentials judges by and make_seeds signs with.
#pragma once

#include "config/secrets.h"

namespace muster::fuzz {

inline const Secrets& credential_keys() {
    static const Secrets both({Secret("key-of-today-0123456789abcdef"), Secret("key-of-yesterday")});
    return both;
}

}  // namespace muster::fuzz
