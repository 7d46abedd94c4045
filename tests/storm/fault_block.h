// What the machine does wrong at this moment: a block of memory that the storm writes and the daemon's preloaded
// library reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace muster::storm {

// Lies in a file that both map, the storm's in memory. All zero: a machine without faults. tests/faulty_machine.py
// knows the layout.
struct FaultBlock {
    std::atomic<std::int64_t> date_offset_ms;   // added to the date
    std::atomic<std::int32_t> sync_delay_ms;    // how long fsync takes; lowering it ends a wait that is under way
    std::atomic<std::int32_t> sync_fails;       // 1: fsync fails with EIO
    std::atomic<std::int32_t> disk_full;        // 1: writes to the store fail with ENOSPC
    std::atomic<std::uint64_t> syncs;           // how often the store was synced: the library counts them
    std::atomic<std::int64_t> longest_sync_us;  // of the disk itself, without our delay; whoever reads it sets it to 0
    std::atomic<std::int64_t> sync_since_us;    // the disk syncs since then, by the steady clock; 0 while it does not
};

// The daemon's environment names the block's file, and the start of the paths that its disk faults are for.
inline constexpr const char* fault_block_variable = "STORM_FAULTS";
inline constexpr const char* store_path_variable = "STORM_STORE";
// A folder, if given: after each sync it gets a copy of the synced file, and loses what was deleted when the store's
// own folder is synced. It is what a power loss would leave.
inline constexpr const char* synced_folder_variable = "STORM_SYNCED";

}  // namespace muster::storm
