// How this process's memory goes back to the machine.
#pragma once

namespace muster {

// From now on each block of 128 KiB and more is its own mapping, which is gone when it is freed. Otherwise glibc raises
// that bound to the largest block it has seen freed, and what large blocks leave behind (views of the fleet, tables
// that grew) stays: 300 bytes a link with 10,000 of them. Call it before threads are started.
void give_large_blocks_back();

// What was freed between blocks that are in use goes back, too, in whole pages. Meanwhile other threads may have to
// wait for memory, longer where more was freed: so it is for an idle moment, and not often. Any thread.
void give_free_memory_back();

}  // namespace muster
