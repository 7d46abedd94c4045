// The limit that timers_bench measures timers with a callback against: a wheel in one flat pool, four rings of 256
// slots of a millisecond, a plain function and its argument beside the links. No groups, no second time base, no
// budget, no checks, nothing that survives a callback which throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::bench {

class FlatWheel {
public:
    using Callback = void (*)(void*);
    struct Id {
        std::uint32_t index;
        std::uint32_t generation;
    };

    explicit FlatWheel(std::size_t timers) : pool_(heads) {
        for (std::uint32_t i = 0; i < heads; ++i) pool_[i].next = pool_[i].prev = i;
        pool_.reserve(heads + timers);
    }

    Id schedule(std::uint32_t deadline, Callback callback, void* argument) {
        std::uint32_t index = free_;
        if (index == none) {
            index = static_cast<std::uint32_t>(pool_.size());
            pool_.emplace_back();
        } else {
            free_ = pool_[index].next;
        }
        Entry& entry = pool_[index];
        entry.deadline = deadline;
        entry.callback = callback;
        entry.argument = argument;
        ++entry.generation;
        link(index);
        return {index, entry.generation};
    }

    bool cancel(Id id) {
        if (pool_[id.index].generation != id.generation) return false;
        unlink(id.index);
        release(id.index);
        return true;
    }

    bool reschedule(Id id, std::uint32_t deadline) {
        if (pool_[id.index].generation != id.generation) return false;
        unlink(id.index);
        pool_[id.index].deadline = deadline;
        link(id.index);
        return true;
    }

    // Fires all that is due by `until`, tick by tick.
    void advance(std::uint32_t until) {
        while (now_ < until) {
            ++now_;
            for (std::uint32_t level = rings - 1; level > 0; --level) {
                if ((now_ & ((1U << (slot_bits * level)) - 1)) == 0) spread(level);
            }
            const std::uint32_t head = now_ & slot_mask;
            while (pool_[head].next != head) {
                const std::uint32_t index = pool_[head].next;
                const Entry due = pool_[index];
                unlink(index);
                release(index);
                due.callback(due.argument);
            }
        }
    }

    static constexpr std::size_t bytes_per_timer() { return sizeof(Entry); }

private:
    static constexpr std::uint32_t rings = 4;
    static constexpr std::uint32_t slot_bits = 8;
    static constexpr std::uint32_t slot_mask = (1U << slot_bits) - 1;
    static constexpr std::uint32_t heads = rings << slot_bits;  // the first entries head the slots' lists
    static constexpr std::uint32_t none = ~0U;

    struct Entry {
        std::uint32_t next = 0;
        std::uint32_t prev = 0;
        std::uint32_t deadline = 0;
        std::uint32_t generation = 0;
        Callback callback = nullptr;
        void* argument = nullptr;
    };

    void link(std::uint32_t index) {
        const std::uint32_t deadline = pool_[index].deadline;
        std::uint32_t level = 0;
        while (level + 1 < rings && (deadline ^ now_) >> (slot_bits * (level + 1)) != 0) ++level;
        const std::uint32_t head = (level << slot_bits) + ((deadline >> (slot_bits * level)) & slot_mask);
        const std::uint32_t last = pool_[head].prev;
        pool_[index].next = head;
        pool_[index].prev = last;
        pool_[last].next = index;
        pool_[head].prev = index;
    }

    void unlink(std::uint32_t index) {
        pool_[pool_[index].prev].next = pool_[index].next;
        pool_[pool_[index].next].prev = pool_[index].prev;
    }

    void release(std::uint32_t index) {
        ++pool_[index].generation;
        pool_[index].next = free_;
        free_ = index;
    }

    // The slot that begins now goes to the ring below.
    void spread(std::uint32_t level) {
        const std::uint32_t head = (level << slot_bits) + ((now_ >> (slot_bits * level)) & slot_mask);
        while (pool_[head].next != head) {
            const std::uint32_t index = pool_[head].next;
            unlink(index);
            link(index);
        }
    }

    std::vector<Entry> pool_;
    std::uint32_t free_ = none;
    std::uint32_t now_ = 0;
};

}  // namespace muster::bench
