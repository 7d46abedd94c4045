// The operators that are durable, for whoever judges tokens and lists names.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "http/role.h"

namespace muster {

// Any thread. The store's thread notes the records that have become durable before anybody hears that they have:
// whoever was told that an operator is removed finds it gone.
class OperatorBook {
public:
    // These are all.
    void begin_with(const std::vector<OperatorRecord>& recovered);
    void note(const Record& record);

    // Who holds the token; nobody for a wrong one. All are compared, whichever it is, and each in constant time.
    std::optional<TokenHolder> holder_of(std::string_view token) const;
    // The operator of that name; nobody when there is none.
    std::optional<TokenHolder> named(std::string_view name) const;
    // By name.
    std::vector<OperatorRecord> all() const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, OperatorRecord> by_name_;  // guarded by mutex_
};

}  // namespace muster
