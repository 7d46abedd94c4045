#include "http/block_book.h"

namespace muster {

void BlockBook::begin_with(const std::vector<BlockRecord>& recovered) {
    const std::lock_guard lock(mutex_);
    blocks_.clear();
    for (const BlockRecord& block : recovered) blocks_.insert_or_assign({block.kind, block.value}, block);
}

void BlockBook::note(const Record& record) {
    if (const auto* block = std::get_if<BlockRecord>(&record)) {
        const std::lock_guard lock(mutex_);
        blocks_.insert_or_assign({block->kind, block->value}, *block);
    } else if (const auto* removed = std::get_if<BlockRemoved>(&record)) {
        const std::lock_guard lock(mutex_);
        blocks_.erase({removed->kind, removed->value});
    }
}

std::vector<BlockRecord> BlockBook::all(UnixMs now) const {
    const std::lock_guard lock(mutex_);
    std::vector<BlockRecord> all;
    for (const auto& [key, block] : blocks_)
        if (block.until.value == 0 || block.until > now) all.push_back(block);
    return all;
}

}  // namespace muster
