#include "http/operator_book.h"

#include <openssl/crypto.h>

#include "http/operator_token.h"

namespace muster {

void OperatorBook::begin_with(const std::vector<OperatorRecord>& recovered) {
    const std::lock_guard lock(mutex_);
    by_name_.clear();
    for (const OperatorRecord& known : recovered) by_name_.insert_or_assign(known.name, known);
}

void OperatorBook::note(const Record& record) {
    if (const auto* added = std::get_if<OperatorRecord>(&record)) {
        const std::lock_guard lock(mutex_);
        by_name_.insert_or_assign(added->name, *added);
    } else if (const auto* removed = std::get_if<OperatorRemoved>(&record)) {
        const std::lock_guard lock(mutex_);
        by_name_.erase(removed->name);
    }
}

std::optional<TokenHolder> OperatorBook::holder_of(std::string_view token) const {
    const std::string hash = hash_of_token(token);
    std::optional<TokenHolder> holder;
    const std::lock_guard lock(mutex_);
    for (const auto& [name, known] : by_name_) {
        const bool fits = known.token_hash.size() == hash.size() &&
                          CRYPTO_memcmp(known.token_hash.data(), hash.data(), hash.size()) == 0;
        if (fits) holder = TokenHolder{name, known.role};
    }
    return holder;
}

std::optional<TokenHolder> OperatorBook::named(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? std::nullopt : std::optional(TokenHolder{found->first, found->second.role});
}

std::vector<OperatorRecord> OperatorBook::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<OperatorRecord> all;
    all.reserve(by_name_.size());
    for (const auto& [name, known] : by_name_) all.push_back(known);
    return all;
}

}  // namespace muster
