// The keys of tickets in a file beside the store: after a restart the fleet comes back without full handshakes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/entropy.h"
#include "tls/ticket_keys.h"

namespace muster {

// One thread; its keys are for any. Mode 0600; a file that others may read or have made is not believed, and replaced.
// Times are seconds since 1970.
class TicketFile {
public:
    // An empty path: the keys are gone with the process.
    explicit TicketFile(std::string path) : path_(std::move(path)) {}

    // Reads the keys, or makes the first. Says what an operator should know; empty when there is nothing. Without its
    // file Muster serves as well: peers make full handshakes after the next restart.
    std::string open(std::int64_t now);
    // Once in a while: a key that has sealed for long enough gives way to a new one. Says the same.
    std::string renew(std::int64_t now);

    // After open().
    const std::shared_ptr<TicketKeys>& keys() const { return keys_; }

private:
    std::string write() const;

    std::string path_;
    SystemEntropy entropy_;
    std::shared_ptr<TicketKeys> keys_;
};

}  // namespace muster
