// The engine's address, as store.url gives it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

// One of the hosts that a URL names; both empty when it names none.
struct PgHost {
    std::string host{};
    std::string port{};
    friend bool operator==(const PgHost&, const PgHost&) = default;
};

// Fails with what is wrong: it does not parse, or it holds a password, which belongs into a secret file (N-1).
Result<std::vector<PgHost>, std::string> pg_hosts_of(const std::string& url);

}  // namespace muster
