// The table of sessions: by place, by account, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/check.h"
#include "base/ids.h"
#include "core/session.h"

namespace muster {

// Game thread only. A session stays where it is for as long as it lives.
class Sessions {
public:
    using Place = std::uint32_t;
    static constexpr Place none = ~Place{0};

    Sessions() : by_account_(0, AccountHash{this}, AccountEqual{this}), by_name_(0, NameHash{this}, NameEqual{this}) {}
    Sessions(const Sessions&) = delete;
    Sessions& operator=(const Sessions&) = delete;

    // For a name and an account that have no session.
    Place add(std::string_view name, AccountId player) {
        const Place place = take_place();
        Session& session = at(place);
        SessionDetails& more = details(place);
        session = Session{};
        more = SessionDetails{};
        session.taken = true;
        session.player = player;
        MUSTER_CHECK(name.size() <= more.name.size(), "a name was judged before");
        session.name_size = static_cast<std::uint8_t>(name.size());
        name.copy(more.name.data(), name.size());
        const bool new_account = by_account_.insert(place).second;
        const bool new_name = by_name_.insert(place).second;
        MUSTER_CHECK(new_account && new_name, "one session for a name and for an account");
        ++size_;
        return place;
    }

    void remove(Place place) {
        Session& session = at(place);
        MUSTER_CHECK(session.taken, "a session is removed once");
        by_name_.erase(place);
        by_account_.erase(place);
        session.taken = false;
        session.link = {};
        free_.push_back(place);
        --size_;
    }

    // Only for places that were given out.
    Session& at(Place place) { return blocks_[place / block_size]->hot[place % block_size]; }
    const Session& at(Place place) const { return blocks_[place / block_size]->hot[place % block_size]; }
    SessionDetails& details(Place place) { return blocks_[place / block_size]->cold[place % block_size]; }
    const SessionDetails& details(Place place) const { return blocks_[place / block_size]->cold[place % block_size]; }
    std::string_view name(Place place) const { return details(place).name_of(at(place)); }

    Place find(AccountId player) const {
        const auto found = by_account_.find(player);
        return found == by_account_.end() ? none : *found;
    }
    Place find(std::string_view name) const {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? none : *found;
    }

    std::size_t size() const { return size_; }
    // Places that were ever used: at() is good for all below.
    Place places() const { return places_; }

private:
    static constexpr std::size_t block_size = 128;
    struct Block {
        Session hot[block_size];
        SessionDetails cold[block_size];
    };

    // Both sets hold places only; what they are looked up by is where it is.
    struct AccountHash {
        using is_transparent = void;
        const Sessions* table;
        std::size_t operator()(AccountId player) const { return std::hash<AccountId>{}(player); }
        std::size_t operator()(Place place) const { return (*this)(table->at(place).player); }
    };
    struct AccountEqual {
        using is_transparent = void;
        const Sessions* table;
        bool operator()(Place a, Place b) const { return a == b || table->at(a).player == table->at(b).player; }
        bool operator()(AccountId player, Place place) const { return player == table->at(place).player; }
        bool operator()(Place place, AccountId player) const { return player == table->at(place).player; }
    };
    struct NameHash {
        using is_transparent = void;
        const Sessions* table;
        std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
        std::size_t operator()(Place place) const { return (*this)(table->name(place)); }
    };
    struct NameEqual {
        using is_transparent = void;
        const Sessions* table;
        bool operator()(Place a, Place b) const { return a == b || table->name(a) == table->name(b); }
        bool operator()(std::string_view name, Place place) const { return name == table->name(place); }
        bool operator()(Place place, std::string_view name) const { return name == table->name(place); }
    };

    Place take_place() {
        if (!free_.empty()) {
            const Place place = free_.back();
            free_.pop_back();
            return place;
        }
        if (places_ == blocks_.size() * block_size) blocks_.push_back(std::make_unique<Block>());
        return places_++;
    }

    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<Place> free_;
    Place places_ = 0;
    std::size_t size_ = 0;
    boost::unordered_flat_set<Place, AccountHash, AccountEqual> by_account_;
    boost::unordered_flat_set<Place, NameHash, NameEqual> by_name_;
};

}  // namespace muster
