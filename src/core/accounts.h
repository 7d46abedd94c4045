// Account ids of players whose credential names none: each name keeps the one it was first given (P-1, `open`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "core/ledger.h"
#include "core/records.h"

namespace muster {

// Game thread only. The ledger outlives it.
class Accounts {
public:
    Accounts(Ledger& ledger, const std::vector<AccountRecord>& recovered) : ledger_(ledger) {
        for (const AccountRecord& record : recovered) {
            by_name_.emplace(record.name, record.account);
            if (record.account.value >= next_) next_ = record.account.value + 1;
        }
    }

    // A new name's id is on its way to the disk with everything that will be said of it.
    AccountId of(std::string_view name) {
        if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
        const AccountId account(next_++);
        by_name_.emplace(std::string(name), account);
        ledger_.write(AccountRecord{std::string(name), account});
        return account;
    }

private:
    Ledger& ledger_;
    std::map<std::string, AccountId, std::less<>> by_name_;
    std::int32_t next_ = 1;
};

}  // namespace muster
