// Numbers that are never issued twice, across restarts: server ids, epochs, event ids.
//
// They are reserved in blocks ahead of use, so that no handshake waits for the disk.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "core/cell_share.h"
#include "core/ledger.h"
#include "core/records.h"

namespace muster {

// Game thread only.
class IdBlocks {
public:
    static constexpr std::int32_t server_block = 10'000;
    static constexpr std::int64_t epoch_block = 100'000;
    static constexpr std::int64_t event_block = 1'000'000;

    // Starts where the last run may have got to, or where the share of server ids begins. Call reserve() before the
    // first use.
    IdBlocks(Ledger& ledger, const NumbersReserved& recovered, const NumberShare& server_ids = {});

    // Asks for the first blocks, and from then on for the next ones when half is used.
    void reserve();
    // Writes what is reserved already once more: finds out whether the store takes records again.
    void write_again() { ledger_.write(durable_); }
    // The first blocks are durable: numbers can be given.
    bool ready() const { return durable_.server_ids_below > next_.server_ids_below; }

    // Nothing when the store has been down for a whole block.
    std::optional<ServerId> server_id();
    std::optional<std::int64_t> epoch();
    std::optional<std::int64_t> event_id();

private:
    void reserve_when_low();

    Ledger& ledger_;
    const NumberShare server_ids_;
    NumbersReserved next_;     // the next number of each kind
    NumbersReserved durable_;  // numbers below these may be given
    bool asked_ = false;
};

}  // namespace muster
