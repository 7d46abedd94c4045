// Who is let in no more: addresses, accounts and names that an operator has blocked (S-6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/ip_range.h"
#include "base/time.h"
#include "core/events.h"
#include "core/ledger.h"
#include "core/records.h"
#include "core/replies.h"
#include "runtime/events.h"

namespace muster {

// Game thread only. What it is given outlives it.
//
// A change counts once it is durable: then its question is answered and its event published. When the store fails, the
// question is refused with store_unavailable, and nothing has changed. Times are those that core issues.
class Blocks {
public:
    static constexpr std::size_t blocks_max = 10'000;

    struct Parts {
        Ledger& ledger;
        Replies& replies;
        Events& events;
    };

    Blocks(const Parts& parts, const std::vector<BlockRecord>& recovered);

    enum class Verdict : std::uint8_t {
        begun,  // the answer to the question comes by Replies
        unknown,
        too_many,
    };
    // The value is canonical. Replaces a block of the same kind and value. `done` is published when it is.
    Verdict add(std::uint64_t question, const BlockRecord& wanted, event::OperatorAction done);
    Verdict remove(std::uint64_t question, BlockKind kind, std::string_view value, event::OperatorAction done);

    // Whether a block that has not ended by `now` is in the way.
    bool has_ip(const IpAddress& address, UnixMs now) const;
    bool has_account(AccountId account, UnixMs now) const;
    bool has_name(std::string_view name, UnixMs now) const;

    // Those that have become durable since the last call: whoever they hit is still here.
    std::vector<BlockRecord> take_new() { return std::exchange(new_, {}); }
    // Forgets those that have ended.
    void expire(UnixMs now);

    // Another cell keeps them (N-11), and these are all. From now on those that end are its to remove.
    void follow(const std::vector<BlockRecord>& all);

    std::size_t size() const { return blocks_.size(); }

private:
    using Key = std::pair<BlockKind, std::string>;

    // A change on its way to the store.
    struct Change {
        BlockRecord block;  // of one that ends: its kind and value
        bool ends = false;
        std::uint64_t question = 0;
        event::OperatorAction done;
    };

    void write(const Record& record, Change change);
    void settled(std::uint64_t number, bool durable);
    void keep(const BlockRecord& block);
    void forget(const Key& key);
    bool holds(const Key& key, UnixMs now) const;

    Ledger& ledger_;
    Replies& replies_;
    Events& events_;
    std::map<Key, BlockRecord> blocks_;
    std::map<int, std::set<IpAddress>, std::greater<>> ranges_;  // first addresses of IPv6 form, by their shared bits
    std::set<std::pair<std::int64_t, Key>> ends_;                // by the end, of those that have one
    std::map<std::uint64_t, Change> changes_;
    std::uint64_t last_change_ = 0;
    std::vector<BlockRecord> new_;
    bool follows_ = false;
};

}  // namespace muster
