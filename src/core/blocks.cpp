#include "core/blocks.h"

#include <fmt/format.h>

#include "core/block_value.h"

namespace muster {

Blocks::Blocks(const Parts& parts, const std::vector<BlockRecord>& recovered)
    : ledger_(parts.ledger), replies_(parts.replies), events_(parts.events) {
    for (const BlockRecord& block : recovered) keep(block);
}

Blocks::Verdict Blocks::add(std::uint64_t question, const BlockRecord& wanted, event::OperatorAction done) {
    if (!blocks_.contains({wanted.kind, wanted.value}) && blocks_.size() + changes_.size() >= blocks_max)
        return Verdict::too_many;
    write(wanted, {wanted, false, question, std::move(done)});
    return Verdict::begun;
}

Blocks::Verdict Blocks::remove(std::uint64_t question, BlockKind kind, std::string_view value,
                               event::OperatorAction done) {
    const auto found = blocks_.find({kind, std::string(value)});
    if (found == blocks_.end()) return Verdict::unknown;
    write(BlockRemoved{kind, std::string(value)}, {found->second, true, question, std::move(done)});
    return Verdict::begun;
}

void Blocks::write(const Record& record, Change change) {
    const std::uint64_t number = ++last_change_;
    changes_.emplace(number, std::move(change));
    ledger_.write_promised(record, [this, number](Kept kept) { settled(number, kept == Kept::durable); });
}

void Blocks::settled(std::uint64_t number, bool durable) {
    Change change = std::move(changes_.extract(number).mapped());
    if (!durable) return replies_.answer_question(change.question, Failure(Refusal::store_unavailable));
    if (change.ends) {
        forget({change.block.kind, change.block.value});
    } else {
        keep(change.block);
        new_.push_back(std::move(change.block));
    }
    events_.publish(std::move(change.done));
    replies_.answer_question(change.question, {});
}

bool Blocks::has_ip(const IpAddress& address, UnixMs now) const {
    for (const auto& [bits, firsts] : ranges_) {
        const IpAddress first = masked(address, bits);
        if (!firsts.contains(first) || first.is_v4() != address.is_v4()) continue;
        if (holds({BlockKind::ip, IpRange::of(first, bits).to_string()}, now)) return true;
    }
    return false;
}

bool Blocks::has_account(AccountId account, UnixMs now) const {
    return !blocks_.empty() && holds({BlockKind::account, fmt::to_string(account.value)}, now);
}

bool Blocks::has_name(std::string_view name, UnixMs now) const {
    return !blocks_.empty() && holds({BlockKind::name, std::string(name)}, now);
}

void Blocks::expire(UnixMs now) {
    while (!ends_.empty() && ends_.begin()->first <= now.value) {
        const Key key = ends_.begin()->second;
        forget(key);
        if (follows_) continue;
        ledger_.write(BlockRemoved{key.first, key.second});
        events_.publish(event::BlockExpired{std::string(to_string(key.first)), key.second});
    }
}

void Blocks::follow(const std::vector<BlockRecord>& all) {
    follows_ = true;
    const std::map<Key, BlockRecord> before = blocks_;
    std::set<Key> stay;
    for (const BlockRecord& block : all) {
        const Key key{block.kind, block.value};
        stay.insert(key);
        const auto known = before.find(key);
        if (known != before.end() && known->second == block) continue;
        keep(block);
        new_.push_back(block);
    }
    for (const auto& [key, block] : before)
        if (!stay.contains(key)) forget(key);
}

void Blocks::keep(const BlockRecord& block) {
    const Key key{block.kind, block.value};
    forget(key);
    blocks_.emplace(key, block);
    if (block.until.value != 0) ends_.emplace(block.until.value, key);
    if (block.kind != BlockKind::ip) return;
    if (const auto range = IpRange::parse(block.value)) ranges_[range->shared_bits()].insert(range->first());
}

void Blocks::forget(const Key& key) {
    const auto found = blocks_.find(key);
    if (found == blocks_.end()) return;
    ends_.erase({found->second.until.value, key});
    blocks_.erase(found);
    if (key.first != BlockKind::ip) return;
    const auto range = IpRange::parse(key.second);
    const auto firsts = range ? ranges_.find(range->shared_bits()) : ranges_.end();
    if (firsts == ranges_.end()) return;
    firsts->second.erase(range->first());
    if (firsts->second.empty()) ranges_.erase(firsts);
}

bool Blocks::holds(const Key& key, UnixMs now) const {
    const auto found = blocks_.find(key);
    return found != blocks_.end() && (found->second.until.value == 0 || found->second.until > now);
}

}  // namespace muster
