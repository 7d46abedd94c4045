#include "core/block_value.h"

#include <charconv>
#include <cstdint>
#include <system_error>

#include <fmt/format.h>

#include "base/ip_range.h"
#include "base/utf8.h"
#include "protocol/text.h"

namespace muster {

std::optional<std::string> block_value(BlockKind kind, std::string_view text) {
    switch (kind) {
        case BlockKind::ip: {
            const auto range = IpRange::parse(text);
            return range ? std::optional(range->to_string()) : std::nullopt;
        }
        case BlockKind::account: {
            std::int32_t account = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), account);
            if (error != std::errc() || end != text.data() + text.size() || account < 1) return std::nullopt;
            return fmt::to_string(account);
        }
        case BlockKind::name:
            if (text.empty() || !NameText::fits(text) || !is_utf8(text)) return std::nullopt;
            return std::string(text);
    }
    return std::nullopt;
}

AccountId account_of(const BlockRecord& block) {
    std::int32_t account = 0;
    std::from_chars(block.value.data(), block.value.data() + block.value.size(), account);
    return AccountId(account);
}

}  // namespace muster
