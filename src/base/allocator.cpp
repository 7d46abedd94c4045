#include "base/allocator.h"

#include <cstdlib>  // says whether this is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace muster {

void give_large_blocks_back() {
#ifdef __GLIBC__
    constexpr int block_least = 128 * 1024;
    mallopt(M_MMAP_THRESHOLD, block_least);
#endif
}

void give_free_memory_back() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace muster
