// The keys of a server's tickets, with which its peers come back without a full handshake (S-1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/entropy.h"

namespace muster {

// Wiped when it goes.
struct TicketKey {
    static constexpr std::size_t name_size = 16;
    static constexpr std::size_t key_size = 32;
    using Name = std::array<unsigned char, name_size>;
    using Key = std::array<unsigned char, key_size>;

    TicketKey() = default;
    TicketKey(const TicketKey&) = delete;
    TicketKey& operator=(const TicketKey&) = delete;
    ~TicketKey();

    std::int64_t made = 0;  // seconds since 1970
    Name name{};            // stands in front of the tickets
    Key cipher{};           // AES-256-CBC
    Key mac{};              // HMAC-SHA256
};

// Any thread. The newest key seals; older ones unseal, for as long as a ticket of theirs is good. Whoever has a key can
// write tickets in any peer's name: each is used for a day, and gone a week later.
class TicketKeys {
public:
    static constexpr std::int64_t seals_seconds = 86'400;
    // How long a ticket is good: as long as RFC 8446 (4.6.1) allows, since a link may be up for days before a restart.
    static constexpr std::int64_t ticket_seconds = std::int64_t{7} * 86'400;

    // `entropy` outlives it.
    TicketKeys(Entropy& entropy, std::int64_t now);

    // What to_text() gave, in another life: those of its keys that are still good are taken. False when there was none,
    // or something else: then all is as before.
    bool take(std::string_view text, std::int64_t now);
    std::string to_text() const;

    // A new key when the newest has sealed for long enough, and old ones go. True when there is something to keep.
    bool renew(std::int64_t now);

    std::shared_ptr<const TicketKey> newest() const;
    // Null when it is not one of ours, or not any more.
    std::shared_ptr<const TicketKey> find(std::span<const unsigned char, TicketKey::name_size> name) const;

private:
    using Keys = std::vector<std::shared_ptr<const TicketKey>>;

    std::shared_ptr<const TicketKey> new_key(std::int64_t now) const;

    Entropy& entropy_;
    mutable std::mutex mutex_;
    Keys keys_;  // guarded by mutex_; the newest first, never empty
};

}  // namespace muster
