// Account ids in open mode, where credentials name none: each name keeps the id that it first got (P-1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function.h"
#include "base/ids.h"
#include "base/planted.h"
#include "core/ledger.h"
#include "core/records.h"

namespace muster {

// Game thread only. The ledger outlives it.
class Accounts {
public:
    // Called once: with the name's permanent id, or with nothing when it could not be made durable.
    using WhenKept = Function<void(std::optional<AccountId> account)>;

    Accounts(Ledger& ledger, const std::vector<AccountRecord>& recovered) : ledger_(ledger) {
        for (const AccountRecord& record : recovered) {
            by_name_[record.name] = {record.account, true, {}};
            if (record.account.value >= next_) next_ = record.account.value + 1;
        }
    }

    // The id that the name keeps. Nothing while it has none, or none that is durable.
    std::optional<AccountId> find(std::string_view name) const {
        const auto found = by_name_.find(name);
        if (found == by_name_.end() || !found->second.kept) return std::nullopt;
        return found->second.id;
    }

    // Gives an id to a name that find() does not know. `tell` is called in a later pass.
    void keep(std::string_view name, WhenKept tell) {
        const auto [known, is_new] = by_name_.try_emplace(std::string(name));
        known->second.waiting.push_back(std::move(tell));
        if (!is_new) return;
        known->second.id = AccountId(next_++);
        ledger_.write_promised(AccountRecord{known->first, known->second.id},
                               [this, written = known->first](bool durable) { settled(written, durable); });
        if (planted(Bug::login_before_account)) settled(known->first, true);
    }

private:
    struct Account {
        AccountId id;
        bool kept = false;
        std::vector<WhenKept> waiting;
    };

    void settled(const std::string& name, bool durable) {
        const auto found = by_name_.find(name);
        const AccountId id = found->second.id;
        auto waiting = std::exchange(found->second.waiting, {});
        if (durable) {
            found->second.kept = true;
        } else {
            by_name_.erase(found);
        }
        for (WhenKept& tell : waiting) tell(durable ? std::optional(id) : std::nullopt);
    }

    Ledger& ledger_;
    std::map<std::string, Account, std::less<>> by_name_;
    std::int32_t next_ = 1;
};

}  // namespace muster
