// A map by number: links, lobbies, servers, accounts. The judges look up several of them for each message.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/stable_array.h"

namespace muster::sim {

// As std::map by its calls, and quicker: a lookup is a hash of the number, and the place of an entry that is gone is
// used again. Entries stay where they are until they are erased.
//
// The order of entries is that of their places: the same calls in the same order give the same order, and it is not
// that of the keys. One thread.
template <class Key, class T>
class IdMap {
public:
    using Entry = std::pair<const Key, T>;

private:
    using Places = StableArray<std::optional<Entry>>;

    template <bool is_const>
    class Iterator {
    public:
        using Owner = std::conditional_t<is_const, const Places, Places>;
        using Value = std::conditional_t<is_const, const Entry, Entry>;
        using iterator_category = std::forward_iterator_tag;
        using value_type = Entry;
        using difference_type = std::ptrdiff_t;
        using pointer = Value*;
        using reference = Value&;

        Iterator() = default;
        Iterator(Owner* places, std::size_t place) : places_(places), place_(place) {}
        template <bool other_is_const>
            requires(is_const && !other_is_const)
        explicit(false) Iterator(const Iterator<other_is_const>& other)
            : places_(other.places_), place_(other.place_) {}

        Value& operator*() const { return *(*places_)[place_]; }
        Value* operator->() const { return &**this; }
        Iterator& operator++() {
            ++place_;
            skip_free();
            return *this;
        }
        Iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.place_ == b.place_; }

    private:
        friend class IdMap;
        template <bool>
        friend class Iterator;
        void skip_free() {
            while (place_ < places_->size() && !(*places_)[place_]) ++place_;
        }

        Owner* places_ = nullptr;
        std::size_t place_ = 0;
    };

public:
    using iterator = Iterator<false>;
    using const_iterator = Iterator<true>;

    iterator begin() { return first_of<iterator>(places_); }
    const_iterator begin() const { return first_of<const_iterator>(places_); }
    iterator end() { return {&places_, places_.size()}; }
    const_iterator end() const { return {&places_, places_.size()}; }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    bool contains(Key key) const { return place_of(key) != none; }

    iterator find(Key key) { return at_place<iterator>(places_, place_of(key)); }
    const_iterator find(Key key) const { return at_place<const_iterator>(places_, place_of(key)); }

    T& operator[](Key key) { return try_emplace(key).first->second; }

    template <class... Args>
    std::pair<iterator, bool> try_emplace(Key key, Args&&... args) {
        if (const std::size_t known = place_of(key); known != none) return {iterator(&places_, known), false};
        const std::size_t place = take_place();
        places_[place].emplace(std::piecewise_construct, std::forward_as_tuple(key),
                               std::forward_as_tuple(std::forward<Args>(args)...));
        ++size_;
        if (size_ * 2 > table_.size()) {
            grow();
        } else {
            enter(key, place);
        }
        return {iterator(&places_, place), true};
    }

    // The entry after it.
    iterator erase(iterator entry) {
        const std::size_t place = entry.place_;
        leave(entry->first);
        places_[place].reset();
        free_.push_back(static_cast<std::uint32_t>(place));
        --size_;
        return ++entry;
    }
    std::size_t erase(Key key) {
        const std::size_t place = place_of(key);
        if (place == none) return 0;
        erase(iterator(&places_, place));
        return 1;
    }
    template <class Predicate>
    void erase_if(Predicate wrong) {
        for (auto entry = begin(); entry != end();) entry = wrong(*entry) ? erase(entry) : ++entry;
    }

    // Takes the entry out; nothing when there is none.
    std::optional<T> extract(Key key) {
        const auto found = find(key);
        if (found == end()) return std::nullopt;
        std::optional<T> taken(std::move(found->second));
        erase(found);
        return taken;
    }

    void clear() {
        if (size_ == 0) return;
        size_ = 0;
        std::fill(table_.begin(), table_.end(), Cell{});
        free_.clear();
        // The next ones take the first places again.
        for (std::size_t place = places_.size(); place-- > 0;) {
            places_[place].reset();
            free_.push_back(static_cast<std::uint32_t>(place));
        }
    }

private:
    static constexpr std::size_t none = ~std::size_t{0};
    static constexpr std::size_t table_least = 16;

    template <class Found, class Of>
    static Found first_of(Of& places) {
        Found found(&places, 0);
        found.skip_free();
        return found;
    }
    template <class Found, class Of>
    static Found at_place(Of& places, std::size_t place) {
        return {&places, place == none ? places.size() : place};
    }

    static std::uint32_t number_of(Key key) {
        if constexpr (std::is_integral_v<Key>) {
            return static_cast<std::uint32_t>(key);
        } else {
            return static_cast<std::uint32_t>(key.value);
        }
    }
    // Spread by all bits of the number: some count in the low ones, and the top ones of a slot name its worker.
    std::size_t home_of_number(std::uint32_t number) const { return (number * std::uint32_t{0x9e3779b9}) >> shift_; }
    std::size_t home_of(Key key) const { return home_of_number(number_of(key)); }

    std::size_t place_of(Key key) const {
        if (size_ == 0) return none;
        for (std::size_t at = home_of(key); table_[at].place != 0; at = (at + 1) & (table_.size() - 1)) {
            if (table_[at].number == number_of(key)) return table_[at].place - 1;
        }
        return none;
    }

    std::size_t take_place() {
        if (free_.empty()) {
            places_.append();
            return places_.size() - 1;
        }
        const std::size_t place = free_.back();
        free_.pop_back();
        return place;
    }

    void enter(Key key, std::size_t place) {
        std::size_t at = home_of(key);
        while (table_[at].place != 0) at = (at + 1) & (table_.size() - 1);
        table_[at] = {number_of(key), static_cast<std::uint32_t>(place + 1)};
    }

    // What stands behind it moves up, as far as it is not at home there: so no search ends too early.
    void leave(Key key) {
        const std::size_t mask = table_.size() - 1;
        std::size_t gap = home_of(key);
        while (table_[gap].number != number_of(key) || table_[gap].place == 0) gap = (gap + 1) & mask;
        for (std::size_t at = (gap + 1) & mask; table_[at].place != 0; at = (at + 1) & mask) {
            const std::size_t home = home_of_number(table_[at].number);
            if (((at - home) & mask) < ((at - gap) & mask)) continue;
            table_[gap] = table_[at];
            gap = at;
        }
        table_[gap] = {};
    }

    void grow() {
        MUSTER_CHECK(places_.size() < ~std::uint32_t{0}, "a place has a number");
        table_.assign(std::max(table_least, table_.size() * 2), {});
        shift_ = 32 - std::countr_zero(table_.size());
        for (std::size_t place = 0; place < places_.size(); ++place) {
            if (places_[place]) enter(places_[place]->first, place);
        }
    }

    // Of the table: 0 is an empty cell, else the place and 1.
    struct Cell {
        std::uint32_t number = 0;
        std::uint32_t place = 0;
    };

    Places places_;
    std::vector<std::uint32_t> free_;
    std::vector<Cell> table_;  // a power of two of them
    int shift_ = 32;           // of the hash: what is left is a place in the table
    std::size_t size_ = 0;
};

}  // namespace muster::sim
