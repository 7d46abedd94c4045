#include "tls/ticket_keys.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <openssl/crypto.h>

namespace muster {
namespace {

// One for each day in which a ticket may still be good, and the day on which it seals; a file with more is not ours.
constexpr std::size_t keys_max = TicketKeys::ticket_seconds / TicketKeys::seals_seconds + 2;

// The newest tickets of a key are made at the end of its day. One from the future was made by a wrong clock, and would
// be used for too long.
bool is_good(const TicketKey& key, std::int64_t now) {
    return key.made <= now + TicketKeys::seals_seconds &&
           now < key.made + TicketKeys::seals_seconds + TicketKeys::ticket_seconds;
}

void put(std::string& text, std::span<const unsigned char> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
}

bool take_bytes(std::string_view& text, std::span<unsigned char> to) {
    if (text.size() < 2 * to.size()) return false;
    for (unsigned char& byte : to) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
        if (error != std::errc() || end != text.data() + 2) return false;
        text.remove_prefix(2);
    }
    return true;
}

// "made name cipher mac", the last three in hexadecimal digits without a space between.
std::shared_ptr<const TicketKey> parse(std::string_view line) {
    auto key = std::make_shared<TicketKey>();
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), key->made);
    if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return nullptr;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
    const bool whole = take_bytes(line, key->name) && take_bytes(line, key->cipher) && take_bytes(line, key->mac);
    return whole && line.empty() ? key : nullptr;
}

}  // namespace

TicketKey::~TicketKey() {
    OPENSSL_cleanse(cipher.data(), cipher.size());
    OPENSSL_cleanse(mac.data(), mac.size());
}

TicketKeys::TicketKeys(Entropy& entropy, std::int64_t now) : entropy_(entropy), keys_{new_key(now)} {}

std::shared_ptr<const TicketKey> TicketKeys::new_key(std::int64_t now) const {
    auto key = std::make_shared<TicketKey>();
    key->made = now;
    entropy_.fill(std::as_writable_bytes(std::span(key->name)));
    entropy_.fill(std::as_writable_bytes(std::span(key->cipher)));
    entropy_.fill(std::as_writable_bytes(std::span(key->mac)));
    return key;
}

bool TicketKeys::take(std::string_view text, std::int64_t now) {
    Keys taken;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos || taken.size() == keys_max) return false;
        auto key = parse(text.substr(0, end));
        if (!key) return false;
        taken.push_back(std::move(key));
        text.remove_prefix(end + 1);
    }
    std::erase_if(taken, [&](const auto& key) { return !is_good(*key, now); });
    std::ranges::stable_sort(taken, [](const auto& a, const auto& b) { return a->made > b->made; });
    if (taken.empty()) return false;
    const std::lock_guard lock(mutex_);
    keys_ = std::move(taken);
    return true;
}

std::string TicketKeys::to_text() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& key : keys_) {
        text += std::to_string(key->made) + ' ';
        put(text, key->name);
        put(text, key->cipher);
        put(text, key->mac);
        text += '\n';
    }
    return text;
}

bool TicketKeys::renew(std::int64_t now) {
    const std::lock_guard lock(mutex_);
    const bool is_due = now - keys_.front()->made >= seals_seconds || !is_good(*keys_.front(), now);
    if (is_due) keys_.insert(keys_.begin(), new_key(now));
    return std::erase_if(keys_, [&](const auto& key) { return !is_good(*key, now); }) > 0 || is_due;
}

std::shared_ptr<const TicketKey> TicketKeys::newest() const {
    const std::lock_guard lock(mutex_);
    return keys_.front();
}

std::shared_ptr<const TicketKey> TicketKeys::find(std::span<const unsigned char, TicketKey::name_size> name) const {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(keys_, [&](const auto& key) { return std::ranges::equal(key->name, name); });
    return found == keys_.end() ? nullptr : *found;
}

}  // namespace muster
