// How often each account may log in (S-7).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.h"
#include "base/time.h"

namespace muster {

// Game thread only. Remembers the logins of the last minute, and nothing else. A rate of 0 sets no limit.
class LoginRate {
public:
    static constexpr std::chrono::minutes window{1};

    explicit LoginRate(std::int32_t per_minute) : per_minute_(per_minute) {}
    void configure(std::int32_t per_minute) { per_minute_ = per_minute; }

    // False when the account has logged in as often as it may in the last minute. Counts the login otherwise.
    bool allow(Time now, AccountId account) {
        if (per_minute_ == 0) return true;
        for (; !order_.empty() && now - order_.front().at >= window; order_.pop_front()) {
            const auto aged = counts_.find(order_.front().account);
            if (--aged->second == 0) counts_.erase(aged);
        }
        if (order_.empty()) counts_ = {};  // gives the room of a rush back
        std::int32_t& count = counts_[account];
        if (count >= per_minute_) return false;
        ++count;
        order_.push_back({now, account});
        return true;
    }

    // Accounts that logged in within the last minute, as of the latest login.
    std::size_t accounts() const { return counts_.size(); }

private:
    struct Login {
        Time at;
        AccountId account;
    };

    std::int32_t per_minute_;
    std::deque<Login> order_;  // oldest first
    boost::unordered_flat_map<AccountId, std::int32_t, std::hash<AccountId>> counts_;
};

}  // namespace muster
