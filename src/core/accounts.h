// Account ids in open mode, where credentials name none: each name keeps the id that it first got (P-1).
#pragma once

#include <cstddef>
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
#include "core/cell_share.h"
#include "core/ledger.h"
#include "core/records.h"

namespace muster {

// Game thread only. The ledger outlives it.
class Accounts {
public:
    // Called once: with the name's permanent id, or with nothing when it could not be made durable.
    using WhenKept = Function<void(std::optional<AccountId> account)>;

    // New ids are of the share.
    Accounts(Ledger& ledger, const std::vector<AccountRecord>& recovered, const NumberShare& share = {})
        : ledger_(ledger), share_(share), next_(share.first) {
        for (const AccountRecord& record : recovered) {
            by_name_[record.name] = {record.account, true, {}};
            if (share.contains(record.account.value) && record.account.value >= next_) next_ = record.account.value + 1;
        }
    }

    // The id that the name keeps. Nothing while it has none, or none that is durable.
    std::optional<AccountId> find(std::string_view name) const {
        const auto found = by_name_.find(name);
        if (found == by_name_.end() || !found->second.kept) return std::nullopt;
        return found->second.id;
    }

    // At most so many wait for one name: whoever logs in, leaves and comes back while the disk stalls.
    static constexpr std::size_t waiting_max = 64;

    // Whether there is an id left for a new name, or room to wait for the id of one that is being written.
    bool has_room(std::string_view name) const {
        const auto known = by_name_.find(name);
        return known == by_name_.end() ? next_ < share_.below : known->second.waiting.size() < waiting_max;
    }

    // Gives an id to a name that find() does not know; there is room. `tell` is called in a later pass.
    void keep(std::string_view name, WhenKept tell) {
        const auto [known, is_new] = by_name_.try_emplace(std::string(name));
        known->second.waiting.push_back(std::move(tell));
        if (!is_new) return;
        known->second.id = AccountId(next_++);
        ledger_.write_promised(AccountRecord{known->first, known->second.id},
                               [this, written = known->first](Kept kept) { settled(written, kept == Kept::durable); });
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
    const NumberShare share_;
    std::int32_t next_;  // the id of the next new name
    std::map<std::string, Account, std::less<>> by_name_;
};

}  // namespace muster
