#include "net/outbox.h"

#include <algorithm>

#include "base/check.h"
#include "net/reused_memory.h"

namespace muster {

void OutboundBatch::add_all(OutboundBatch& other) {
    if (empty()) {
        entries.swap(other.entries);
        bytes.swap(other.bytes);
        return;
    }
    const auto base = static_cast<std::uint32_t>(bytes.size());
    bytes.append(other.bytes.view());
    entries.reserve(std::max(entries.size() + other.entries.size(), 2 * entries.size()));
    for (OutboundEntry entry : other.entries) {
        entry.offset += base;
        entries.push_back(entry);
    }
    other.clear();
}

void OutboundBatch::clear() {
    clear_for_reuse(entries);
    clear_for_reuse(bytes);
}

void Outbox::put(OutboundBatch& batch) {
    if (batch.empty()) return;
    const std::lock_guard lock(mutex_);
    waiting_.add_all(batch);
    bytes_and_entries_.store(waiting_.bytes.size() + waiting_.entries.size() * sizeof(OutboundEntry),
                             std::memory_order_seq_cst);
}

bool Outbox::take(OutboundBatch& batch) {
    MUSTER_CHECK(batch.empty(), "the batch taken before has been handled");
    if (empty()) return false;
    const std::lock_guard lock(mutex_);
    waiting_.entries.swap(batch.entries);
    waiting_.bytes.swap(batch.bytes);
    bytes_and_entries_.store(0, std::memory_order_relaxed);
    return !batch.empty();
}

}  // namespace muster
