// Account ids of players whose credential names none: each name keeps the one it was first given (P-1, `open`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function.h"
#include "base/ids.h"
#include "core/ledger.h"
#include "core/records.h"

namespace muster {

// Game thread only. The ledger outlives it.
class Accounts {
public:
    // Told once: true when the id is the name's for good, false when the disk does not take it.
    using WhenKept = Function<void(bool kept)>;

    Accounts(Ledger& ledger, const std::vector<AccountRecord>& recovered) : ledger_(ledger) {
        for (const AccountRecord& record : recovered) {
            by_name_[record.name] = {record.account, true, {}};
            if (record.account.value >= next_) next_ = record.account.value + 1;
        }
    }

    // Nobody may be told the id before it is kept.
    AccountId of(std::string_view name) {
        const auto found = by_name_.find(name);
        if (found != by_name_.end()) return found->second.id;
        const AccountId id(next_++);
        by_name_[std::string(name)] = {id, false, {}};
        ledger_.write_promised(AccountRecord{std::string(name), id},
                               [this, written = std::string(name)](bool durable) { settled(written, durable); });
        return id;
    }

    // Calls back at once for a name whose id is kept already.
    void when_kept(std::string_view name, WhenKept tell) {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) return tell(false);
        if (found->second.kept) return tell(true);
        found->second.waiting.push_back(std::move(tell));
    }

private:
    struct Account {
        AccountId id;
        bool kept = false;
        std::vector<WhenKept> waiting;
    };

    void settled(const std::string& name, bool durable) {
        const auto found = by_name_.find(name);
        auto waiting = std::exchange(found->second.waiting, {});
        if (durable) {
            found->second.kept = true;
        } else {
            by_name_.erase(found);
        }
        for (WhenKept& tell : waiting) tell(durable);
    }

    Ledger& ledger_;
    std::map<std::string, Account, std::less<>> by_name_;
    std::int32_t next_ = 1;
};

}  // namespace muster
