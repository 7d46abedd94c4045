// What can be blocked, as people write it: "ip" and "203.0.113.0/24", "account" and "42", "name" and "Bob".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/records.h"

namespace muster {

constexpr std::string_view to_string(BlockKind kind) {
    switch (kind) {
        case BlockKind::ip:
            return "ip";
        case BlockKind::account:
            return "account";
        case BlockKind::name:
            return "name";
    }
    return "";
}

// None for a word that names no kind.
constexpr std::optional<BlockKind> block_kind_named(std::string_view text) {
    for (const BlockKind kind : {BlockKind::ip, BlockKind::account, BlockKind::name}) {
        if (to_string(kind) == text) return kind;
    }
    return std::nullopt;
}

// The value in its canonical spelling; none when it cannot be of that kind.
std::optional<std::string> block_value(BlockKind kind, std::string_view text);

// What a value of that kind is, for who gave none.
constexpr std::string_view block_value_rule(BlockKind kind) {
    switch (kind) {
        case BlockKind::ip:
            return "an IP address or a range such as 203.0.113.0/24";
        case BlockKind::account:
            return "an account's id";
        case BlockKind::name:
            return "a player's name";
    }
    return "";
}

// Of a block of an account.
AccountId account_of(const BlockRecord& block);

}  // namespace muster
