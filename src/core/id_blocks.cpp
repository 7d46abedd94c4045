#include "core/id_blocks.h"

#include <algorithm>

#include "base/planted.h"

namespace muster {

namespace {

NumbersReserved within(NumbersReserved recovered, const NumberShare& server_ids) {
    recovered.server_ids_below = std::max(recovered.server_ids_below, server_ids.first);
    return recovered;
}

}  // namespace

IdBlocks::IdBlocks(Ledger& ledger, const NumbersReserved& recovered, const NumberShare& server_ids)
    : ledger_(ledger), server_ids_(server_ids), next_(within(recovered, server_ids)), durable_(next_) {}

void IdBlocks::reserve() {
    if (asked_) return;
    asked_ = true;
    const NumbersReserved wanted{
        .server_ids_below = std::min(server_ids_.below - server_block, next_.server_ids_below) + server_block,
        .epochs_below = next_.epochs_below + epoch_block,
        .event_ids_below = next_.event_ids_below + event_block,
    };
    if (planted(Bug::ids_before_reserved)) durable_ = wanted;
    ledger_.write_promised(wanted, [this, wanted](Kept kept) {
        asked_ = false;
        if (kept == Kept::durable) durable_ = wanted;
        // A refusal is asked again when the next number is wanted.
    });
}

std::optional<ServerId> IdBlocks::server_id() {
    reserve_when_low();
    if (next_.server_ids_below >= durable_.server_ids_below) return std::nullopt;
    return ServerId(next_.server_ids_below++);
}

std::optional<std::int64_t> IdBlocks::epoch() {
    reserve_when_low();
    if (next_.epochs_below >= durable_.epochs_below) return std::nullopt;
    return next_.epochs_below++;
}

std::optional<std::int64_t> IdBlocks::event_id() {
    reserve_when_low();
    if (next_.event_ids_below >= durable_.event_ids_below) return std::nullopt;
    return next_.event_ids_below++;
}

void IdBlocks::reserve_when_low() {
    // Past the last id there is nothing to ask for.
    const bool ids_low = durable_.server_ids_below - next_.server_ids_below < server_block / 2 &&
                         durable_.server_ids_below < server_ids_.below;
    const bool low = ids_low || durable_.epochs_below - next_.epochs_below < epoch_block / 2 ||
                     durable_.event_ids_below - next_.event_ids_below < event_block / 2;
    if (low) reserve();
}

}  // namespace muster
